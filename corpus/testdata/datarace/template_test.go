package datarace

import (
	"sync"
	"testing"
)

// templates are parsed when they are first used.
type templates struct {
	once   sync.Once
	parsed map[string]string
}

func parseTemplates() map[string]string {
	return map[string]string{"home": "<h1>", "login": "<form>"}
}

// get looks whether the templates are parsed, without any synchronization.
func (t *templates) get(name string) string {
	if t.parsed == nil { // want race
		t.parsed = parseTemplates() // want race
	}
	return t.parsed[name]
}

func (t *templates) getOnce(name string) string {
	t.once.Do(func() { t.parsed = parseTemplates() })
	return t.parsed[name]
}

func render(t *testing.T, get func(*templates, string) string) {
	var set templates
	var wg sync.WaitGroup
	for _, page := range []string{"home", "login"} {
		wg.Go(func() {
			if get(&set, page) == "" {
				t.Errorf("no template for %s", page)
			}
		})
	}
	wg.Wait()
}

// TestTemplate renders two pages at the same time.
func TestTemplate(t *testing.T) { render(t, (*templates).get) }

func TestTemplateFixed(t *testing.T) { render(t, (*templates).getOnce) }
