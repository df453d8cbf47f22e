package heal

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/option"
	"github.com/heisen-go/heisen/section"
)

// Live follows the threads of a program that is instrumented by hand, as for atomrace.Detector, and has a Healer
// suppress races and atomicity violations on some of its variables. The program calls BeforeAccess of Live and then
// that of the detector, makes the access, and calls AfterAccess of the detector and then that of Live.
//
// The visits of a thread are its executions of the given atomic sections, from before the entry until after the end,
// and its single accesses outside of them. A visit to a section is Shared if its accesses only read and each end
// allows others to read; a visit for a single read is Shared, too.
//
// Nothing is healed at first. Heal switches healing on for a variable, and Sink for the variables of findings. A
// section that a thread is in at this time is not healed, but the next one is.
//
// The methods may be called from many goroutines at the same time, but from one goroutine at a time for each thread
// number. An access to a variable that is not healed costs the look-up in a sync.Map. The zero Live heals nothing.
type Live struct {
	healer   Healer
	sections []section.Section

	healed  sync.Map // of heisen.Object
	some    atomic.Bool
	threads sync.Map // from heisen.Thread to *liveThread
	roles   sync.Map // from liveAccess to []section.Role

	mu    sync.Mutex
	index *section.Index // guarded by mu; nil without sections
}

// liveAccess is what decides the roles of an access.
type liveAccess struct {
	site  heisen.Site
	write bool
}

// liveThread is a thread. Only itself uses it.
type liveThread struct {
	visits []liveVisit
}

// liveVisit is a visit that a thread is making.
type liveVisit struct {
	Visit
	section int  // its index, or single
	nested  int  // further entries of a recursive section, whose ends have not come
	over    bool // at the end of the thread's latest access
}

const single = -1

// LiveOption is an option of NewLive.
type LiveOption func(*liveConfig) error

type liveConfig struct {
	sections []section.Section
	locator  *section.Locator
}

// WithSections gives a Live the atomic sections, which it copies. For the locator see atomrace.WithSections. The error
// wraps section.ErrInvalid if section.NewIndex refuses the arguments. Giving the option twice is an error.
func WithSections(sections []section.Section, locator section.Locator) LiveOption {
	return func(c *liveConfig) error {
		if c.locator != nil {
			return option.Errorf("WithSections: sections are given twice")
		}
		c.sections, c.locator = slices.Clone(sections), &locator
		for i := range c.sections {
			c.sections[i].Ends = slices.Clone(c.sections[i].Ends)
		}
		return nil
	}
}

// NewLive returns a Live with the given Healer, which must not be nil. Without WithSections, it heals single accesses
// only: two of them do not overlap, but what another thread does between two accesses is not prevented.
func NewLive(healer Healer, opts ...LiveOption) (*Live, error) {
	const name = "heal.NewLive"
	if healer == nil {
		return nil, fmt.Errorf("%s: %w: the healer is nil", name, heisen.ErrOption)
	}
	var c liveConfig
	if err := option.Apply(name, &c, opts); err != nil {
		return nil, err
	}
	l := &Live{healer: healer, sections: c.sections}
	if c.locator != nil {
		var err error
		if l.index, err = section.NewIndex(c.sections, *c.locator); err != nil {
			return nil, fmt.Errorf("%s: %w", name, option.Errorf("WithSections: %w", err))
		}
	}
	return l, nil
}

// Heal switches healing on for a variable.
func (l *Live) Heal(variable heisen.Object) {
	if l.healer != nil {
		l.healed.Store(variable, true)
		l.some.Store(true)
	}
}

// Sink returns a sink that switches healing on for the variable of each race and atomicity violation, and then
// passes the finding on to next, which may be nil.
func (l *Live) Sink(next heisen.Sink) heisen.Sink {
	return func(f heisen.Finding) {
		if f.Kind == heisen.Race || f.Kind == heisen.Atomicity {
			for _, a := range f.Accesses {
				l.Heal(a.Object)
			}
		}
		if next != nil {
			next(f)
		}
	}
}

// BeforeAccess announces that a thread is about to access a variable. It waits as the Healer decides. Its arguments are
// those of the method of atomrace.Detector.
func (l *Live) BeforeAccess(t heisen.Thread, variable heisen.Object, site heisen.Site, op heisen.Op) {
	if !l.some.Load() || !op.IsAccess() {
		return
	}
	th := l.thread(t)
	if th != nil {
		l.endOver(th)
	}
	if _, ok := l.healed.Load(variable); !ok {
		return
	}
	if th == nil {
		th = &liveThread{}
		l.threads.Store(t, th)
	}
	i := slices.IndexFunc(th.visits, func(v liveVisit) bool { return v.Object == variable })
	now := liveVisit{Visit: Visit{Thread: t, Object: variable, Mode: Shared}, section: single, over: true}
	if i >= 0 && th.visits[i].section != single {
		now = th.visits[i]
	}
	need := Shared
	if op.IsWrite() {
		need = Exclusive
	}
	need = max(need, l.pass(&now, l.rolesOf(site, op)))
	if i >= 0 && th.visits[i].Mode >= need {
		th.visits[i] = now
		return
	}
	if i >= 0 {
		l.leave(th, i)
	}
	now.Mode = need
	l.healer.Enter(now.Visit)
	th.visits = append(th.visits, now)
}

// pass changes a visit by an access with the given roles. It returns the mode that a section needs which the access
// enters.
func (l *Live) pass(v *liveVisit, roles []section.Role) (need Mode) {
	for _, role := range roles { // an access may be the end of a section and the entry of one
		switch {
		case role.IsEntry() || role.Section != v.section:
		case v.nested > 0:
			v.nested--
		default:
			v.over = true
		}
	}
	for _, role := range roles {
		switch {
		case !role.IsEntry():
		case v.over:
			v.section, v.nested, v.over = role.Section, 0, false
			need = max(need, l.mode(role.Section))
		case v.section == role.Section && l.sections[role.Section].Recursive:
			v.nested++
		}
	}
	return need
}

// AfterAccess announces that the thread's latest access is over. The next BeforeAccess of the thread does, too.
func (l *Live) AfterAccess(t heisen.Thread) {
	if th := l.thread(t); th != nil {
		l.endOver(th)
	}
}

// AtomExit announces that the thread has left the sections on a variable that it was in.
func (l *Live) AtomExit(t heisen.Thread, variable heisen.Object) {
	th := l.thread(t)
	if th == nil {
		return
	}
	for i := len(th.visits) - 1; i >= 0; i-- {
		if th.visits[i].Object == variable {
			l.leave(th, i)
		}
	}
}

// EndThread announces that a thread does nothing more. Its number may be used again.
func (l *Live) EndThread(t heisen.Thread) {
	th := l.thread(t)
	if th == nil {
		return
	}
	for i := len(th.visits) - 1; i >= 0; i-- {
		l.leave(th, i)
	}
	l.threads.Delete(t)
}

// thread returns a thread, or nil if nothing is known of it.
func (l *Live) thread(t heisen.Thread) *liveThread {
	th, ok := l.threads.Load(t)
	if !ok {
		return nil
	}
	return th.(*liveThread)
}

// endOver ends the visits that are over.
func (l *Live) endOver(th *liveThread) {
	for i := len(th.visits) - 1; i >= 0; i-- {
		if th.visits[i].over {
			l.leave(th, i)
		}
	}
}

func (l *Live) leave(th *liveThread, i int) {
	v := th.visits[i].Visit
	th.visits = slices.Delete(th.visits, i, i+1)
	l.healer.Leave(v)
}

// rolesOf returns what an access means to the sections.
func (l *Live) rolesOf(site heisen.Site, op heisen.Op) []section.Role {
	if l.index == nil {
		return nil
	}
	key := liveAccess{site, op.IsWrite()}
	if known, ok := l.roles.Load(key); ok {
		return known.([]section.Role)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	roles := l.index.Roles(site, op)
	l.roles.Store(key, roles)
	return roles
}

// mode returns the mode of a visit to a section.
func (l *Live) mode(number int) Mode {
	s := &l.sections[number]
	if s.Entry.Mode != section.Reads {
		return Exclusive
	}
	for _, e := range s.Ends {
		if e.At.Mode != section.Reads || e.Allow&section.Reads == 0 {
			return Exclusive
		}
	}
	return Shared
}
