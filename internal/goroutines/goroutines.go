// Package goroutines reads what package runtime/pprof says of the goroutines of this process.
package goroutines

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
)

// Profiles of package runtime/pprof.
const (
	All    = "goroutine"
	Leaked = "goroutineleak" // those that wait for what nothing that may still run can reach
)

// ErrNoProfile is wrapped by errors that say that this release of Go does not have a profile.
var ErrNoProfile = errors.New("this release of Go has no such profile")

// A Group is goroutines that have the same stack and labels.
type Group struct {
	Count  int
	Labels map[string]string
	PCs    []uintptr // return addresses, innermost first
}

// Profile returns the goroutines of a profile. That of leaked goroutines needs a garbage collection; the
// other one stops the world for a moment.
func Profile(name string) ([]Group, error) {
	p := pprof.Lookup(name)
	if p == nil {
		return nil, fmt.Errorf("profile %s: %w", name, ErrNoProfile)
	}
	var text bytes.Buffer
	if err := p.WriteTo(&text, 1); err != nil {
		return nil, fmt.Errorf("profile %s: %w", name, err)
	}
	return parse(text.String()), nil
}

// parse reads a profile as text. Frames stand in it, too, but those of the runtime are left out.
func parse(text string) (all []Group) {
	for group := range strings.SplitSeq(text, "\n\n") {
		var g Group
		for line := range strings.Lines(group) {
			line = strings.TrimSuffix(line, "\n")
			if labels, ok := strings.CutPrefix(line, "# labels: "); ok {
				_ = json.Unmarshal([]byte(labels), &g.Labels)
			} else if number, pcs, ok := strings.Cut(line, " @"); ok && g.Count == 0 {
				g.Count, _ = strconv.Atoi(number)
				g.PCs = addresses(pcs)
			}
		}
		if g.Count > 0 {
			all = append(all, g)
		}
	}
	return all
}

func addresses(text string) (all []uintptr) {
	for field := range strings.FieldsSeq(text) {
		if pc, err := strconv.ParseUint(field, 0, strconv.IntSize); err == nil {
			all = append(all, uintptr(pc))
		}
	}
	return all
}

// Stack returns the functions, innermost first, without those of the runtime that only make the goroutine wait.
func (g *Group) Stack() (stack []runtime.Frame) {
	for _, f := range g.frames() {
		if len(stack) > 0 || !strings.HasPrefix(f.Function, "runtime.") {
			stack = append(stack, f)
		}
	}
	return stack
}

// Callers returns the part of Stack that begins outside of the runtime and package sync.
func (g *Group) Callers() []runtime.Frame {
	stack := g.Stack()
	if i := slices.IndexFunc(stack, func(f runtime.Frame) bool { return !waits(f.Function) }); i >= 0 {
		return stack[i:]
	}
	return nil
}

func (g *Group) frames() (all []runtime.Frame) {
	frames := runtime.CallersFrames(g.PCs)
	for more := len(g.PCs) > 0; more; {
		var f runtime.Frame
		if f, more = frames.Next(); f.Function != "" {
			all = append(all, f)
		}
	}
	return all
}

// reasons has the functions that make a goroutine wait, and the runtime's words for that. A function may call
// those further up.
var reasons = []struct{ function, reason string }{
	{"sync.(*RWMutex).RLock", "sync.RWMutex.RLock"},
	{"sync.(*RWMutex).Lock", "sync.RWMutex.Lock"},
	{"internal/sync.(*Mutex).lockSlow", "sync.Mutex.Lock"},
	{"sync.(*WaitGroup).Wait", "sync.WaitGroup.Wait"},
	{"sync.(*Cond).Wait", "sync.Cond.Wait"},
	{"runtime.chansend", "chan send"},
	{"runtime.chanrecv", "chan receive"},
	{"runtime.selectgo", "select"},
	{"runtime.block", "select (no cases)"},
}

// Reason returns for what the goroutines wait, in the words of the runtime, such as "chan send". It is empty
// if that is something else than a channel or package sync.
func (g *Group) Reason() string {
	called := map[string]bool{}
	for _, f := range g.frames() {
		if !waits(f.Function) {
			break
		}
		called[f.Function] = true
	}
	for _, r := range reasons {
		if called[r.function] {
			return r.reason
		}
	}
	return ""
}
