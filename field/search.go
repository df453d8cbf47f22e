package field

import (
	"fmt"
	"maps"
	"runtime"
	"slices"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/goroutines"
	"github.com/heisen-go/heisen/internal/waitreason"
	"github.com/heisen-go/heisen/report"
)

const leakDetector = "leak"

// maxDumped bounds the goroutines of a process whose stacks are written while none of them runs.
const maxDumped = 10_000

// search returns the goroutines that wait for ever now, once for each place. It asks who has started them only if
// a place is new.
func search(known func(fingerprint string) bool) ([]report.Finding, error) {
	s := waits{symbols: heisen.NewSymbols()}
	leaked, err := goroutines.Profile(goroutines.Leaked)
	if err != nil {
		return nil, fmt.Errorf("leaks cannot be looked for: %w", err)
	}
	for i := range leaked {
		s.add(&leaked[i])
	}
	isNew := func(w wait) bool { return !known(w.finding.Fingerprint(s.symbols)) }
	if slices.ContainsFunc(s.all, isNew) && runtime.NumGoroutine() <= maxDumped {
		s.addOrigins(goroutines.Dump())
	}
	return s.findings(), nil
}

// waits collects findings.
type waits struct {
	symbols *heisen.Symbols
	all     []wait
	threads heisen.Thread // so many have numbers, besides main
}

// wait is goroutines that wait at a place.
type wait struct {
	finding heisen.Finding
	count   int
	reason  string
	top     place
}

type place struct {
	function, file string
	line           int
}

// add adds goroutines that wait for ever: a finding, or more goroutines of one.
func (s *waits) add(g *goroutines.Group) {
	reason, frames := g.Reason(), g.Callers()
	if reason == "" || len(frames) == 0 || isMain(frames) {
		return
	}
	top := place{frames[0].Function, frames[0].File, frames[0].Line}
	for i := range s.all {
		if known := &s.all[i]; known.reason == reason && known.top == top {
			known.count += g.Count
			return
		}
	}
	var calls heisen.Cursor
	for _, f := range slices.Backward(frames[1:]) {
		calls = s.symbols.Call(calls, s.site(frameOf(f)))
	}
	s.threads++
	s.symbols.SetThread(s.threads, heisen.ThreadInfo{Name: "a goroutine"})
	s.all = append(s.all, wait{count: g.Count, reason: reason, top: top, finding: heisen.Finding{
		Detector: leakDetector, Kind: heisen.Leak, Message: "a goroutine waits for ever: " + reason,
		Accesses: []heisen.Access{{
			Op: waitreason.Op(reason), Thread: s.threads, Site: s.site(frameOf(frames[0])), Context: s.symbols.Context(calls), Labels: s.labels(g.Labels),
		}},
	}})
}

// isMain reports whether a goroutine is that of main. That it waits for ever is no mistake: it is how main waits for
// another goroutine, or for a signal, to end the program.
func isMain(frames []runtime.Frame) bool {
	return slices.ContainsFunc(frames, func(f runtime.Frame) bool { return f.Function == "runtime.main" })
}

// frameOf returns a frame, with the line on which its function begins unless the call was inlined.
func frameOf(f runtime.Frame) heisen.Frame {
	frame := heisen.Frame{Func: f.Function, File: f.File, Line: f.Line}
	if f.Func != nil {
		_, frame.Start = f.Func.FileLine(f.Entry)
	}
	return frame
}

func (s *waits) site(frame heisen.Frame) heisen.Site {
	return s.symbols.AddSite(heisen.SiteInfo{Frames: []heisen.Frame{frame}})
}

func (s *waits) labels(labels map[string]string) heisen.Labels {
	var all []heisen.Label
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		all = append(all, heisen.Label{Key: key, Value: labels[key]})
	}
	return s.symbols.AddLabels(all)
}

// addOrigins adds who has started leaked goroutines.
func (s *waits) addOrigins(dump []goroutines.Goroutine) {
	for i := range dump {
		g := &dump[i]
		callers := g.Callers()
		if !g.Leaked || len(callers) == 0 {
			continue
		}
		top := place{callers[0].Function, callers[0].File, callers[0].Line}
		for i := range s.all {
			if w := &s.all[i]; w.top == top && waitreason.Op(w.reason) == waitreason.Op(g.Reason) {
				s.setOrigin(w, g)
			}
		}
	}
}

// setOrigin names the goroutine of a finding, and says who has started it.
func (s *waits) setOrigin(w *wait, g *goroutines.Goroutine) {
	info := heisen.ThreadInfo{Name: fmt.Sprintf("goroutine %d", g.ID)}
	if g.Creator.File != "" {
		info.Forked = true
		info.Site = s.site(heisen.Frame{Func: g.Creator.Function, File: g.Creator.File, Line: g.Creator.Line})
		if g.Parent > 1 {
			s.threads++
			info.Parent = s.threads
			s.symbols.SetThread(s.threads, heisen.ThreadInfo{Name: fmt.Sprintf("goroutine %d", g.Parent)})
		}
	}
	s.symbols.SetThread(w.finding.Accesses[0].Thread, info)
}

// findings returns the findings in words.
func (s *waits) findings() (all []report.Finding) {
	var resolver *report.Resolver // reads no files
	for i := range s.all {
		f := resolver.Resolve(s.all[i].finding, s.symbols)
		f.Count = uint64(s.all[i].count)
		f.Accesses[0].LocksUnknown = true
		all = append(all, f)
	}
	return all
}
