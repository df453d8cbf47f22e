package observed

import (
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/internal/source"
	"github.com/heisen-go/heisen/internal/waitreason"
)

// wakeup says what wakes a goroutine that waits, by the verbs of package source.
type wakeup struct {
	by     []string // wakes it
	not    []string // does not
	absent string   // what nobody has done, if nothing has woken it: what follows "no other goroutine has"
}

// Verbs of package source for methods.
const (
	countDown   = "count down"
	signalOne   = "signal"
	broadcastTo = "broadcast to"
)

var (
	wakesSender   = wakeup{[]string{source.Receive}, []string{source.Send, source.Close}, "received from it"}
	wakesReceiver = wakeup{[]string{source.Send, source.Close}, []string{source.Receive}, "sent to it or closed it"}

	// wakeups has them by the runtime's wait reasons.
	wakeups = map[string]wakeup{
		"chan send":           wakesSender,
		"chan receive":        wakesReceiver,
		"sync.WaitGroup.Wait": {[]string{countDown}, []string{source.Wait}, "counted it down"},
		"sync.Cond.Wait":      {[]string{signalOne, broadcastTo}, []string{source.Wait}, "signaled it"},
	}
)

// selectWakeup returns what wakes a goroutine in a select statement, by what all its cases do. If they do different things, any use
// may wake it.
func selectWakeup(cases string) wakeup {
	switch cases {
	case source.Send:
		return wakeup{wakesSender.by, wakesSender.not, "received from the channels of its cases"}
	case source.Receive:
		return wakeup{wakesReceiver.by, wakesReceiver.not, "sent to the channels of its cases or closed one of them"}
	}
	return wakeup{absent: "used the channels of its cases"}
}

// waitUses has the uses of what a goroutine waits for.
type waitUses struct {
	wake    []use  // may have woken it
	others  []use  // what they do wakes nobody who waits as it does
	missing string // what nobody has done that would wake it; empty if somebody may have done it
}

// told returns the uses that a report tells, the latest one of each thread: the others only if nothing has woken it.
func (u *waitUses) told() []use {
	if u.missing != "" {
		return latestOfEach(slices.Concat(u.wake, u.others))
	}
	return latestOfEach(u.wake)
}

// maxSelected is the number of channels of a select statement that the recorder sends.
const maxSelected = 8

// usesFor returns the uses of the channels, WaitGroup or Cond for which a goroutine waits. It reports whether that is known.
func (h *HeldLocks) usesFor(g *recorder.Blocked, resolver *Resolver) (all waitUses, known bool) {
	reason, _, _ := strings.Cut(g.Reason, " (")
	wake, isKnown := wakeups[reason]
	objects, size, complete := []heisen.Object{g.Object}, uint64(1), true
	switch {
	case reason == "select" && len(g.Channels) > 0:
		objects, size, complete = g.Channels, channelSize, len(g.Channels) < maxSelected
		wake = selectWakeup(h.verbs(nil, heisen.Receive, g, g.Object, resolver)[0])
	case !isKnown || g.Object == 0:
		return all, false
	case strings.HasPrefix(reason, "chan "):
		size = channelSize
	}
	happened := false
	for _, object := range objects {
		uses, isAll := h.used.usesOf(object, size, g.Thread)
		complete = complete && isAll
		verbs := h.verbs(uses, waitreason.Op(g.Reason), g, object, resolver)
		for i, one := range uses {
			switch verb := verbs[i]; {
			case verb == source.Wait: // releases nobody
			case slices.Contains(wake.not, verb):
				all.others = append(all.others, one)
			default:
				all.wake = append(all.wake, one)
				happened = happened || !one.tried
			}
		}
	}
	if complete && !happened {
		all.missing = wake.absent
	}
	return all, true
}

// verbs returns what uses of an object do, as far as the source says it, and then what the goroutine does that waits for it.
func (h *HeldLocks) verbs(uses []use, op heisen.Op, g *recorder.Blocked, object heisen.Object, resolver *Resolver) []string {
	var f heisen.Finding
	for _, one := range uses {
		f.Witness = append(f.Witness, heisen.Record{Op: heisen.Send, Thread: one.thread, Object: object, Site: one.site})
	}
	f.Witness = append(f.Witness, heisen.Record{Op: op, Thread: g.Thread, Object: object, Site: g.Site})
	var verbs []string
	for _, step := range resolver.Resolve(f, h.symbols).Witness {
		verbs = append(verbs, step.Verb)
	}
	return verbs
}
