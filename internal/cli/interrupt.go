package cli

import (
	"context"
	"os"
	"os/signal"
	"time"

	"github.com/heisen-go/heisen/internal/processes"
)

// endings are the signals that end heisen. What was found so far is reported, and everything that heisen
// has started ends, too. A signal that was ignored when heisen started, as under nohup, stays ignored.
func endings() (signals []os.Signal) {
	for _, s := range []os.Signal{processes.Interrupt, processes.Terminate, processes.Hangup, processes.Quit} {
		if !signal.Ignored(s) {
			signals = append(signals, s)
		}
	}
	return signals
}

// interruptible returns a context that ends at the first signal of endings. The command then prints its
// findings so far and removes temporary files. The second signal ends heisen at once. stop restores the
// default handling of signals.
func (inv *invocation) interruptible() (ctx context.Context, stop func()) {
	ctx, _, stop = inv.interruptibleBy(1)
	return ctx, stop
}

// interruptibleTwice is interruptible for commands that report at once when hurry is closed, by the second
// signal. The third one ends heisen at once.
func (inv *invocation) interruptibleTwice() (ctx context.Context, hurry <-chan struct{}, stop func()) {
	return inv.interruptibleBy(2)
}

func (inv *invocation) interruptibleBy(signalsTaken int) (ctx context.Context, _ <-chan struct{}, stop func()) {
	ctx, cancel := context.WithCancel(inv.ctx)
	hurry, stopped := make(chan struct{}), make(chan struct{})
	if _, ok := inv.interrupted(); ok {
		cancel()
	}
	signals := make(chan os.Signal, 1)
	if all := endings(); len(all) > 0 {
		signal.Notify(signals, all...)
	}
	go func() {
		for n := 1; n <= signalsTaken; n++ {
			select {
			case s := <-signals:
				if n == signalsTaken {
					signal.Stop(signals)
				}
				if n == 1 {
					inv.signal.Store(int32(s.(processes.Signal)))
					cancel()
				} else {
					close(hurry)
				}
			case <-stopped:
				return
			}
		}
	}()
	return ctx, hurry, func() {
		signal.Stop(signals)
		close(stopped)
		cancel()
	}
}

// holdSignals keeps signals from ending heisen between its steps, until release is called: there are
// temporary files to remove, and findings to report. What runs then must look at inv.signal. The third
// signal ends heisen at once.
func (inv *invocation) holdSignals() (release func()) {
	signals, done := make(chan os.Signal, 1), make(chan struct{})
	if all := endings(); len(all) > 0 {
		signal.Notify(signals, all...)
	}
	go func() {
		for n := 1; ; n++ {
			select {
			case s := <-signals:
				if s == processes.Quit && inv.quitLooks.Load() {
					n--
					continue
				}
				inv.signal.CompareAndSwap(0, int32(s.(processes.Signal)))
				if n == 2 {
					signal.Reset(endings()...)
				}
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
	}
}

// lastMoment returns a context for what is still worth doing after a signal. All such contexts end at the
// same time.
func (inv *invocation) lastMoment(ctx context.Context) (context.Context, context.CancelFunc) {
	if inv.ending.IsZero() {
		inv.ending = time.Now().Add(time.Second)
	}
	return context.WithDeadline(context.WithoutCancel(ctx), inv.ending)
}

// interrupted returns the exit status of a command that a signal has ended, and whether one has.
func (inv *invocation) interrupted() (status int, ok bool) {
	s := inv.signal.Load()
	return 128 + int(s), s != 0
}

// lookNow passes SIGQUIT on to the programs that are observed: they look for leaks and go on.
func (s *session) lookNow() {
	if fromTerminal(processes.Quit) { // they have got it, too
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, pid := range s.open {
		processes.Find(pid).Signal(processes.Quit)
	}
}

// endTree passes a signal on to the processes below heisen, and kills those that are still running after
// a moment, or when another signal comes.
func (s *session) endTree(root processes.Process, sig processes.Signal, signals <-chan os.Signal) {
	roots := []processes.Process{root}
	s.mu.Lock()
	for _, pid := range s.open {
		roots = append(roots, processes.Find(pid))
	}
	s.mu.Unlock()
	hurry, ended := make(chan struct{}), make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-signals:
			close(hurry)
			s.endAnalysis()
		case <-ended:
		}
	}()
	typed := fromTerminal(sig)
	processes.End(roots, s.gracePeriod(), hurry, func(p processes.Process) {
		switch {
		case typed: // they have got it, too
		case p == root && s.goCommand:
			p.Signal(processes.Interrupt) // at which it removes its temporary folder
		default:
			p.Signal(sig)
		}
	})
}

// lookGrace is how long programs that look for leaks at their end have for that, and for what they do before
// they end, such as to serve the last requests.
const lookGrace = 5 * time.Second

// gracePeriod returns how long programs have to end by themselves after a signal.
func (s *session) gracePeriod() time.Duration {
	if s.leaks {
		return lookGrace
	}
	return processes.GoGrace
}

// fromTerminal reports whether a signal probably comes from the keyboard. Then all processes of the
// foreground group get it.
func fromTerminal(sig processes.Signal) bool {
	if sig != processes.Interrupt && sig != processes.Quit {
		return false
	}
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close()
	return processes.InForeground(tty)
}
