package order

import (
	"sync"
	"testing"
)

// A gateway starts its listener before it has its routes.
type gateway struct {
	wg     sync.WaitGroup
	routes *routes
}

type routes struct{ targets map[string]string }

func (g *gateway) handle(path string) string {
	return g.routes.targets[path] // want race, failure "nil pointer dereference"
}

// start sets the routes when the first request may be there already.
func (g *gateway) start(requests []string) {
	g.listen(requests)
	g.routes = &routes{map[string]string{"/": "home"}}
}

func (g *gateway) startWithRoutes(requests []string) {
	g.routes = &routes{map[string]string{"/": "home"}}
	g.listen(requests)
}

func (g *gateway) listen(requests []string) {
	for _, path := range requests {
		g.wg.Go(func() { g.handle(path) })
	}
}

// TestGateway starts a gateway with a request.
func TestGateway(t *testing.T) {
	g := new(gateway)
	g.start([]string{"/"})
	g.wg.Wait()
}

func TestGatewayFixed(t *testing.T) {
	g := new(gateway)
	g.startWithRoutes([]string{"/"})
	g.wg.Wait()
}
