package cli

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/recorder"
)

// session receives the streams of the instrumented programs that a command starts, directly or not: go test
// starts one for each package, and tests may start more. Each stream has its own goroutine.
type session struct {
	listener   *recorder.Listener
	handle     handler
	mode       recorder.Mode
	live       *recorder.Live // what programs look for inside; may be nil
	hidden     *recorder.Hidden
	directives map[string]string // by variable that one names, where it stands
	name       string            // of the tool
	errors     io.Writer         // standard error

	programs sync.WaitGroup
	mu       sync.Mutex
	seen     int                       // programs that connected
	met      bool                      // a program came to a place that live names, or did not report
	failed   error                     // the first error of a program
	open     map[*recorder.Program]int // process IDs
}

// grace is how long programs are observed after the command that started them has ended.
const grace = 10 * time.Second

// A handler consumes the stream of a program and returns the exit status for a program that would exit with
// status 0.
type handler func(number int, p *recorder.Program, stream *recorder.Stream) (status int32, err error)

func newSession(inv *invocation, mode recorder.Mode, live *recorder.Live, handle handler) (*session, error) {
	l, err := recorder.Listen()
	if err != nil {
		return nil, err
	}
	return &session{listener: l, handle: handle, mode: mode, live: live, hidden: inv.hidden, directives: inv.directives, name: inv.tool.Name, errors: inv.Err, open: map[*recorder.Program]int{}}, nil
}

// run starts cmd and consumes the streams of all instrumented programs below it until they have ended. It
// returns the command's exit status.
func (s *session) run(cmd *exec.Cmd) (int, error) {
	accepting := make(chan struct{})
	go func() {
		defer close(accepting)
		s.accept()
	}()
	cmd.Env = append(cmd.Environ(), s.listener.Env())
	status, err := runAndWait(cmd)
	s.listener.Stop()
	<-accepting
	s.listener.Close()
	orphans := time.AfterFunc(grace, s.abandon)
	s.programs.Wait()
	orphans.Stop()
	if s.live.NumPlaces() > 0 && s.seen > 0 && !s.met {
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
	stream, err := p.Open(recorder.Want{Mode: s.mode, Live: s.live, Hidden: s.hidden})
	if err != nil {
		p.Close(Clean)
		return err
	}
	if p.Stripped {
		fmt.Fprintf(s.errors, "%s: process %d has no symbol table (it was linked with -s), so hidden calls may touch everything\n", s.name, stream.PID())
	}
	if s.hidden != nil {
		for _, v := range s.hidden.Missing(p.Executable()) {
			fmt.Fprintf(s.errors, "%s: %s: process %d has no variable %s\n", s.name, s.directives[v], stream.PID(), v)
		}
	}
	s.mu.Lock()
	s.seen++
	s.open[p] = stream.PID()
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.open, p)
		s.mu.Unlock()
	}()
	status, err := s.handle(number, p, stream)
	drain(stream)
	if stream.Coarse() {
		fmt.Fprintf(s.errors, "%s: process %d has so many call paths or locks that some findings lack locks or innermost calls\n", s.name, stream.PID())
	}
	switch lost := stream.RaceLosses(); {
	case lost.OutOfMemory:
		fmt.Fprintf(s.errors, "%s: process %d ran out of memory for clocks; later races are missed\n", s.name, stream.PID())
	case lost.SharedSlots > 0:
		fmt.Fprintf(s.errors, "%s: process %d: %d goroutines shared clocks with others, for there were not enough clocks for all; races between those may be missed, but not with -filter none\n", s.name, stream.PID(), lost.SharedSlots)
	case lost.ForgottenEpochs > 0:
		fmt.Fprintf(s.errors, "%s: process %d had so many goroutines that some accesses of ended ones were forgotten; races with those may be missed, but not with -filter none\n", s.name, stream.PID())
	}
	watched := stream.LiveResult()
	if n := watched.Lost; n > 0 {
		fmt.Fprintf(s.errors, "%s: process %d had so many accesses at a time that %d overlaps or sections were not checked\n", s.name, stream.PID(), n)
	}
	s.mu.Lock()
	s.met = s.met || watched.Reached || !watched.Ended
	s.mu.Unlock()
	if err != nil {
		err = fmt.Errorf("process %d: %w", stream.PID(), err)
	}
	p.Close(status) // an error means that the program has ended
	return err
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

// abandon disconnects the programs that are still running. Programs that have ended may have unread events;
// their streams stay open.
func (s *session) abandon() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for p, pid := range s.open {
		if syscall.Kill(pid, 0) == nil {
			fmt.Fprintf(s.errors, "%s: process %d outlives the command; heisen does not observe the rest of its run\n", s.name, pid)
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
// terminal's interrupt reaches the command directly, and heisen stays to report. A request to terminate is
// passed on.
func runAndWait(cmd *exec.Cmd) (int, error) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return Failed, err
	}
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case sig := <-signals:
				if sig == syscall.SIGTERM {
					cmd.Process.Signal(sig)
				}
			case <-done:
				return
			}
		}
	}()
	err := cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			return 128 + int(ws.Signal()), nil
		}
		return exit.ExitCode(), nil
	}
	if err != nil {
		return Failed, err
	}
	return Clean, nil
}
