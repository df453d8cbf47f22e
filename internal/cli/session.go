package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/plural"
	"github.com/heisen-go/heisen/internal/processes"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/internal/resident"
)

// session receives the streams of the instrumented programs that a command starts, directly or not:
// go test starts one for each package, and tests may start more. Each stream has its own goroutine.
type session struct {
	listener  *recorder.Listener
	handle    handler
	mode      recorder.Mode
	live      *recorder.Live     // what programs themselves look for; may be nil
	schedule  *recorder.Schedule // makes programs deterministic; nil lets them run freely
	leaks     bool               // programs look for leaks
	hidden    *recorder.Hidden
	name      string           // of the tool
	goCommand bool             // the command is go, and its status stands for many things
	calls     bool             // functions are recorded, too
	signal    *atomic.Int32    // that has ended the command; 0 if none
	quitLooks *atomic.Bool     // while SIGQUIT does not end the command, but makes its programs look for leaks
	passes    *passes          // which results of tests the go command may reuse; nil if none
	endedBy   processes.Signal // that has ended the command's process without heisen; 0 if none
	errors    io.Writer        // standard error
	hurry     func()           // ends the analysis of what programs have sent; may be nil
	connected func()           // called when a program connects; may be nil

	programs sync.WaitGroup
	mu       sync.Mutex
	seen     int                       // programs that connected
	noted    []string                  // what noteUnseen has said
	killed   map[string]int            // child processes that were killed, by the name of the program
	guessed  bool                      // nobody named the places of live: it is no wonder if none is reached
	met      bool                      // a program reached a place that live names, or did not report whether it did
	failed   error                     // the first error of a program
	open     map[*recorder.Program]int // process IDs

	abandoned map[*recorder.Program]bool // programs that are no longer observed
}

// grace is how long programs are observed after the command that started them has ended.
const grace = 10 * time.Second

// lastEvents is how long detectors may look at what programs have sent when a signal has ended the command.
const lastEvents = 2 * time.Second

// hurryAfterSignal ends the analysis some time after a signal, which may come after the command's end, too.
func (s *session) hurryAfterSignal(done <-chan struct{}) {
	ticker := time.NewTicker(lastEvents / 20)
	defer ticker.Stop()
	for s.signal.Load() == 0 {
		select {
		case <-done:
			return
		case <-ticker.C:
		}
	}
	select {
	case <-done:
	case <-time.After(lastEvents):
		s.endAnalysis()
	}
}

func (s *session) endAnalysis() {
	if s.hurry != nil {
		s.hurry()
	}
}

// idle is how long a program runs before heisen gives memory back, if it waits for findings only.
const idle = 100 * time.Millisecond

// A handler consumes the stream of a program and returns the exit status for a program that would
// exit with status 0.
type handler func(number int, p *recorder.Program, stream *recorder.Stream) (status int32, err error)

func newSession(inv *invocation, mode recorder.Mode, live *recorder.Live, handle handler) (*session, error) {
	l, err := recorder.Listen()
	if err != nil {
		return nil, err
	}
	return &session{
		listener: l, handle: handle, mode: mode, live: live, hidden: inv.hidden,
		name: inv.tool.Name, goCommand: inv.runsGo, signal: &inv.signal, quitLooks: &inv.quitLooks, passes: inv.passes, errors: inv.Err,
		open: map[*recorder.Program]int{}, abandoned: map[*recorder.Program]bool{}, killed: map[string]int{},
	}, nil
}

// run starts cmd and consumes the streams of all instrumented programs below it until they have
// ended. It returns the command's exit status.
func (s *session) run(cmd *exec.Cmd) (int, error) {
	accepting := make(chan struct{})
	go func() {
		defer close(accepting)
		s.accept()
	}()
	cmd.Env = append(append(recorder.Environ(cmd.Environ()), s.listener.Env()), s.passes.env()...)
	status, err := s.runAndWait(cmd)
	s.listener.Stop()
	<-accepting
	s.listener.Close()
	patience := grace
	if s.signal.Load() != 0 {
		patience = 0
	}
	orphans := time.AfterFunc(patience, s.abandon)
	analyzed := make(chan struct{})
	go s.hurryAfterSignal(analyzed)
	s.programs.Wait()
	close(analyzed)
	orphans.Stop()
	for name, n := range s.killed {
		fmt.Fprintf(s.errors, "%s: %s: %d child process(es) killed; what they did last is not recorded\n", s.name, name, n)
	}
	if s.live.NumPlaces() > 0 && !s.guessed && s.seen > 0 && !s.met {
		fmt.Fprintf(s.errors, "%s: no place of the sections or of the noise was reached: they may belong to other sources, or to packages that are not recorded\n", s.name)
	}
	if err == nil {
		err = s.failed
	}
	return status, err
}

func (s *session) accept() {
	for number := 0; ; number++ {
		p, err := s.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			s.fail(err)
			return
		}
		if s.connected != nil {
			s.connected()
		}
		s.programs.Add(1)
		go func() {
			defer s.programs.Done()
			if err := s.program(number, p); err != nil {
				s.fail(err)
			}
		}()
	}
}

func (s *session) program(number int, p *recorder.Program) error {
	stream, err := p.Open(recorder.Want{Mode: s.mode, Live: s.live, Hidden: s.hidden, Schedule: s.schedule, Leaks: s.leaks, Calls: s.calls})
	if err != nil {
		p.Close(Clean)
		return err
	}
	s.mu.Lock()
	s.seen++
	s.open[p] = stream.PID()
	s.mu.Unlock()
	if s.mode&recorder.FindingsOnly != 0 { // hardly anything comes from the program
		defer time.AfterFunc(idle, resident.Shrink).Stop()
	}
	defer func() {
		s.mu.Lock()
		delete(s.open, p)
		s.mu.Unlock()
	}()
	status, err := s.handle(number, p, stream)
	drain(stream)
	var lost *recorder.LostError
	if !stream.Finished() && (err == nil || errors.As(err, &lost)) {
		err = s.complete(p, stream)
	}
	if failed := stream.SymbolError(); failed != nil {
		fmt.Fprintf(s.errors, "%s: process %d: some places have no names: %v\n", s.name, stream.PID(), failed)
	}
	if stream.Coarse() {
		fmt.Fprintf(s.errors, "%s: process %d has so many call paths or locks that some findings lack locks or innermost calls\n", s.name, stream.PID())
	}
	if stream.LookFailed() {
		fmt.Fprintf(s.errors, "%s: process %d has so many goroutines or objects that it was not looked to the end for goroutines that wait for ever; some may be missing\n", s.name, stream.PID())
	}
	switch lost := stream.RaceLosses(); {
	case lost.BeyondShadow:
		err = cmp.Or(err, errors.New("the recording is incomplete: address space is limited (ulimit -v), and races in part of the memory were missed"))
	case lost.OutOfMemory:
		err = cmp.Or(err, errors.New("the recording is incomplete: memory for clocks ran out, and later races were missed"))
	case lost.SharedSlots > 0:
		fmt.Fprintf(s.errors, "%s: process %d: %s shared clocks with others, since there were not enough clocks for all; races between those may be missed, but not with -filter none\n", s.name, stream.PID(), plural.Of(int(lost.SharedSlots), "goroutine"))
	case lost.ForgottenEpochs > 0:
		fmt.Fprintf(s.errors, "%s: process %d had so many goroutines that some accesses of ended ones were forgotten; races with those may be missed\n", s.name, stream.PID())
	}
	if s.live != nil {
		s.noteUnseen(stream.Unseen(), "of accesses that overlap, only those count that begin while another goroutine waits at its own (-noise)")
	}
	watched := stream.LiveResult()
	if n := watched.Lost; n > 0 {
		fmt.Fprintf(s.errors, "%s: process %d had so many accesses at a time that %d overlaps or sections were not checked\n", s.name, stream.PID(), n)
	}
	if n := watched.Unhealed; n > 0 {
		fmt.Fprintf(s.errors, "%s: process %d: at %s no goroutine could be held up any longer; others may have interfered\n", s.name, stream.PID(), plural.Of(int(n), "access"))
	}
	s.mu.Lock()
	s.met = s.met || watched.Reached || !watched.Ended
	s.mu.Unlock()
	if err != nil {
		err = fmt.Errorf("%s: %w", programOf(p, stream), err)
	}
	p.Close(status) // an error means that the program has ended
	return err
}

// noteUnseen says once what may synchronize in programs without being seen, and what follows from that.
func (s *session) noteUnseen(unseen recorder.Unseen, so string) {
	if !unseen.Any() {
		return
	}
	note := fmt.Sprintf("%s: %s may synchronize, which is not seen: %s\n", s.name, strings.Join(unseen.Reasons(), ", "), so)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.noted, note) {
		s.noted = append(s.noted, note)
		fmt.Fprint(s.errors, note)
	}
}

// complete judges a recording that has ended without the program saying so. That is an error unless heisen
// ends the program, or no longer observes it. A program that another one has started is likely to be ended
// by that.
func (s *session) complete(p *recorder.Program, stream *recorder.Stream) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.abandoned[p] || s.signal.Load() != 0:
		return nil
	case stream.Child():
		s.killed[programOf(p, stream)]++
		return nil
	}
	return errors.New("the recording is incomplete: the program was killed, or has ended without its Go runtime")
}

// programOf names a program in messages.
func programOf(p *recorder.Program, stream *recorder.Stream) string {
	if path := testedPackage(p); path != "" {
		return path
	}
	return fmt.Sprint("process ", stream.PID())
}

// drain reads the rest of a stream after its handler failed, because the program waits until everything is
// read.
func drain(stream *recorder.Stream) {
	batch := make([]heisen.Record, 1024)
	for {
		if _, err := stream.Next(batch); err != nil {
			return
		}
	}
}

// abandon disconnects the programs that are still running. Programs that have ended may have unread
// events; their streams stay open.
func (s *session) abandon() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for p, pid := range s.open {
		if processes.Find(pid).Running() {
			fmt.Fprintf(s.errors, "%s: process %d outlives the command; %[1]s does not observe the rest of its run\n", s.name, pid)
			s.abandoned[p] = true
			p.Abandon()
		}
	}
}

// fail keeps the first error and prints the others.
func (s *session) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		s.failed = err
		return
	}
	fmt.Fprintf(s.errors, "%s: %v\n", s.name, err)
}

// runAndWait runs cmd to its end and returns its exit status, or 128 plus the signal that ended it. A
// signal to heisen ends everything below it, and heisen stays to report.
func (s *session) runAndWait(cmd *exec.Cmd) (int, error) {
	signals := make(chan os.Signal, 8)
	if all := endings(); len(all) > 0 {
		signal.Notify(signals, all...)
		defer signal.Stop(signals)
	}
	if sig := s.signal.Load(); sig != 0 { // it came before
		return 128 + int(sig), nil
	}
	if err := cmd.Start(); err != nil {
		return Failed, err
	}
	root := processes.Find(cmd.Process.Pid)
	done, ended := make(chan struct{}), make(chan struct{})
	s.quitLooks.Store(s.leaks && !s.goCommand)
	defer s.quitLooks.Store(false)
	go func() {
		defer close(ended)
		s.passSignals(root, signals, done)
	}()
	err := cmd.Wait()
	close(done)
	<-ended
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		sig := processes.EndedBy(exit.ProcessState)
		if sig == 0 {
			return exit.ExitCode(), nil
		}
		if s.goCommand && s.signal.CompareAndSwap(0, int32(sig)) { // nobody waits for the tests any more
			s.endTree(root, sig, signals)
		}
		s.endedBy = sig
		return 128 + int(sig), nil
	}
	if err != nil {
		return Failed, err
	}
	return Clean, nil
}

// passSignals passes signals on to what runs below heisen, until one has ended that, or done is closed.
func (s *session) passSignals(root processes.Process, signals <-chan os.Signal, done <-chan struct{}) {
	for {
		select {
		case sig := <-signals:
			if sig == processes.Quit && s.quitLooks.Load() {
				s.lookNow()
				continue
			}
			s.signal.Store(int32(sig.(processes.Signal)))
			s.endTree(root, sig.(processes.Signal), signals)
			return
		case <-done:
			return
		}
	}
}

// askedToEnd reports whether the program was ended by a signal that asks for that, not by a fault.
func (s *session) askedToEnd() bool {
	return s.endedBy == processes.Hangup || s.endedBy == processes.Interrupt || s.endedBy == processes.Terminate
}

// status returns the exit status of a session whose command has ended with the given status: Findings if
// there are findings and a signal has ended it, the status of the command if that is its own, and 128 plus the
// signal if heisen had to end it.
func (s *session) status(command int, found int) int {
	sig := s.signal.Load()
	switch {
	case sig == 0 && s.leaks && s.askedToEnd() && found > 0: // as a server ends
		return Findings
	case sig == 0:
		return command
	case found > 0:
		return Findings
	case s.goCommand && command != Clean, command == 128+int(processes.Kill):
		return 128 + int(sig)
	}
	return command
}
