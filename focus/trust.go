package focus

import "github.com/heisen-go/heisen"

// trust tells which executions of functions are trusted, see Properties.
type trust struct {
	plan    *Plan
	symbols *heisen.Symbols
	known   map[place]bool
	places  int // bounds the memory of known results: those beyond it are computed again
	// incomplete says that contexts may lack calls. Then nothing is known of callers.
	incomplete bool
}

type place struct {
	site heisen.Site
	ctx  heisen.Context
}

const maxPlaces = 1 << 20

// at reports whether the execution of the function that makes an access is trusted.
func (t *trust) at(r *heisen.Record) bool {
	if !t.incomplete && t.symbols.LimitPassed() {
		t.incomplete = true
		clear(t.known)
	}
	p := place{r.Site, r.Context}
	trusted, ok := t.known[p]
	if !ok {
		if len(t.known) >= t.places {
			clear(t.known)
		}
		trusted = t.compute(p)
		t.known[p] = trusted
	}
	return trusted
}

func (t *trust) compute(p place) bool {
	if len(t.symbols.Site(p.site).Frames) == 0 {
		return false
	}
	for _, frame := range t.symbols.Stack(p.site, p.ctx) {
		properties, ok := t.plan.Functions[Function(frame.Func)]
		switch {
		case !ok || !properties.Typed:
			return false
		case len(properties.Requires) == 0:
			return true
		case t.incomplete:
			return false
		}
	}
	return false
}
