package recorder

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/wire"
	"github.com/heisen-go/heisen/internal/private"
)

// Listener accepts the connections of instrumented programs. Close it when no more programs will
// connect.
type Listener struct {
	folder   *private.Temporary // that has the entrance, nil if it is in none
	entrance entrance
}

// An entrance is what programs connect to. One goroutine at a time may call accept, and any one the other methods, stop and
// close once each.
type entrance interface {
	// address returns the path by which programs know it.
	address() string
	// accept waits for the next program. It returns net.ErrClosed after close, and after stop once it has returned
	// all programs that were connected. After other errors no program can connect.
	accept() (*Program, error)
	stop() error
	close() error
}

// A connection carries bytes in both directions. What was sent before its other end has died can be read.
type connection interface {
	io.ReadWriteCloser
	// CloseRead ends reads, also those that are waiting, with io.EOF, and soon makes writes of the other end fail.
	CloseRead() error
}

// Listen makes an entrance. The length of its name is constant: programs keep the name in memory, and addresses in two
// deterministic runs must not depend on it.
func Listen() (*Listener, error) {
	l, err := newListener()
	if err != nil {
		return nil, fmt.Errorf("connection for events: %w", err)
	}
	return l, nil
}

// Env returns the environment variable that makes instrumented programs, and those that they start,
// connect to the listener.
func (l *Listener) Env() string { return wire.SocketEnv + "=" + l.entrance.address() }

// Accept waits for the next program. After Stop or Close it returns net.ErrClosed. If there are too many
// open files, it tries again for a while. Any other error closes the listener, or programs that come
// later would wait for ever.
func (l *Listener) Accept() (*Program, error) { return l.entrance.accept() }

// Stop makes Accept return net.ErrClosed once it has returned all programs that are connected
// already.
func (l *Listener) Stop() error { return l.entrance.stop() }

// Again makes Accept wait for programs again, and reports whether it can. It may be called once Accept has returned
// net.ErrClosed after Stop. Env has changed then, but not its length: programs from before Stop cannot connect.
func (l *Listener) Again() bool {
	e, ok := l.entrance.(interface{ again() bool })
	return ok && e.again()
}

// Close removes the entrance and its folder. Programs that were accepted stay connected.
func (l *Listener) Close() error {
	return errors.Join(l.entrance.close(), l.folder.Remove())
}

// Program is a connected program.
type Program struct {
	conn   connection
	tells  bool // the program itself tells the names of its places: nobody else knows how to find them
	forks  bool // its process is forked at the end of the prologue
	forked bool // it was forked there
	stream *Stream
	solver *processSymbolizer
}

// Mode says what is recorded of a program's run.
type Mode int32

const (
	// Everything records every access that the compiler has instrumented.
	Everything Mode = 0
	// Unrepeated leaves out an access if the same goroutine has made the same one (instruction,
	// kind, bytes) before in the same span, that is, without having published in between what it
	// did. The set of unique racing pairs of sites stays the same for detectors that follow
	// happens-before, with or without lock edges, and for those that also compare the locks held.
	// Detectors that follow the states of a variable, such as Eraser, or the order of accesses
	// within a goroutine need Everything. This is TREE's redundancy within a thread (section 3.3),
	// made safe for detectors that follow lock edges. A goroutine whose lock another one releases
	// may seem to hold it until its next synchronization.
	//
	// A program that hardly repeats accesses looks for repeated ones only from time to time, and records all others.
	//
	// Accesses by one instruction to memory side by side, as those of a loop over a slice, may be one
	// access to all of it.
	Unrepeated Mode = wire.WantFilter
	// Synchronization records everything but accesses, and neither the states of channels and the like.
	Synchronization Mode = wire.WantOrder
	// Marked is Everything, with the flag Repeated on accesses that Unrepeated leaves out.
	Marked Mode = wire.WantFilter | wire.WantMarks
	// FindingsOnly records no events, for programs that only detect overlaps themselves. Such a
	// program sends only the goroutines in its findings and their origins; these have Begin and End
	// events.
	FindingsOnly Mode = wire.WantNothing
	// Races is FindingsOnly, and the program finds races in the observed order itself, as
	// vclock.FastTrack does. They come with the stream, see Stream.OnOverlap.
	Races Mode = wire.WantNothing | wire.WantRaces
	// LockOrder is FindingsOnly, and of synchronization all that package lockset's LockOrder needs. It has the
	// same findings as with the mode Synchronization. Acquisitions that make no difference to it are left out, or
	// have the flag heisen.NoWait, and so are messages that tell nothing new of acquisitions.
	LockOrder Mode = wire.WantNothing | wire.WantLocks
	// RacesAndLockOrder is Races and LockOrder.
	RacesAndLockOrder Mode = Races | LockOrder
	// EverythingAndRaces is Everything and Races: both find the same racing words.
	EverythingAndRaces Mode = wire.WantRaces
)

// FindsRaces reports whether a program in this mode finds races itself.
func (m Mode) FindsRaces() bool { return m&wire.WantRaces != 0 }

// Repeated is the flag of redundant accesses in a recording in the mode Marked.
const Repeated heisen.Flags = 1 << 7

// Want is what a program is asked to do.
type Want struct {
	Mode Mode
	// Live is what to look for during the run; nil is nothing.
	Live *Live
	// Hidden is the packages whose accesses are not recorded; nil is none. It requires the mode Everything.
	Hidden *Hidden
	// Symbolizer resolves the program's sites; nil asks its executable.
	Symbolizer Symbolizer
	// Schedule makes the run deterministic; nil lets it run freely.
	Schedule *Schedule
	// Leaks makes a program that runs freely look for goroutines that wait for ever, at the end of
	// each top-level test, before any end of the program, and at SIGQUIT; see Stream.OnLeaks.
	Leaks bool
	// Calls makes the stream have Call and Return events of functions in which something happens.
	// It requires the mode Everything, and nothing hidden: a program that looks for races itself gives calls their places
	// before there is a record.
	Calls bool
}

// Open reads the start of the program's recording and requests the rest. It blocks until the
// program has sent the start.
func (p *Program) Open(want Want) (*Stream, error) {
	if want.Hidden != nil && want.Mode != Everything {
		return nil, errors.New("where packages are hidden, everything else must be recorded")
	}
	if want.Calls && (want.Hidden != nil || want.Mode != Everything) {
		return nil, errors.New("calls require the mode Everything, and nothing hidden")
	}
	var live, schedule, rest []byte
	var err error
	if want.Live != nil {
		if live, err = want.Live.encode(); err != nil {
			return nil, err
		}
	}
	if want.Schedule != nil {
		if schedule, err = want.Schedule.encode(); err != nil {
			return nil, err
		}
		if want.Schedule.Prologue != 0 {
			rest = append(append32(nil, uint32(len(schedule))), schedule...)
			if schedule, err = want.Schedule.encodePrologue(p.forks); err != nil {
				return nil, err
			}
		}
	}
	stream, err := NewStream(p.conn, nil)
	if err != nil {
		return nil, err
	}
	flags := uint32(want.Mode)
	if p.tells {
		stream.SetSymbolizer(stream.told)
		flags |= wire.WantNames
	} else {
		p.askForNames(stream, want.Symbolizer)
	}
	var messages []byte
	add := func(flag uint32, message []byte) {
		flags |= flag
		messages = append(append32(messages, uint32(len(message))), message...)
	}
	if want.Live != nil {
		add(wire.WantOverlaps, live)
	}
	if want.Hidden != nil {
		add(wire.WantHidden, want.Hidden.encode())
	}
	if want.Schedule != nil {
		add(wire.WantSched, schedule)
	}
	if want.Leaks {
		flags |= wire.WantLeaks
	}
	if want.Calls {
		flags |= wire.WantCalls
		stream.tellsCalls = true
	}
	stream.joins = want.Mode&(wire.WantFilter|wire.WantMarks) == wire.WantFilter
	p.stream, stream.answer, stream.afterPrologue = stream, p.conn, rest
	if !p.forked { // else the process from which it was forked has got all this
		// The answer lets the program continue. If the program has ended, the stream will show that.
		p.conn.Write(append(append32(nil, flags), messages...))
	}
	return stream, nil
}

// askForNames makes the stream ask the symbolizer, or a process of the program's executable if that is nil.
func (p *Program) askForNames(stream *Stream, symbolizer Symbolizer) {
	if symbolizer != nil {
		stream.SetSymbolizer(symbolizer)
		return
	}
	// Without a symbolizer the recording is as good, only harder to read.
	solver, err := newProcessSymbolizer(stream.PID())
	if err != nil {
		stream.unresolved = err
		return
	}
	p.solver = solver
	stream.SetSymbolizer(solver)
}

// Executable returns the file that the program runs, valid until Close; nil before Open, if it cannot be read, or if
// there was a symbolizer.
func (p *Program) Executable() io.ReaderAt {
	if p.solver == nil {
		return nil
	}
	return p.solver.exe
}

// answer sends an answer to the program.
func (p *Program) answer(v int32) error {
	_, err := p.conn.Write(binary.LittleEndian.AppendUint32(nil, uint32(v)))
	return err
}

// Abandon breaks the connection of a program that is still running; its stream ends. Any goroutine
// may call it.
func (p *Program) Abandon() { p.conn.CloseRead() }

// Close ends the connection. status becomes the exit status of a program that ends with status 0
// and waits for the answer. Close waits for the end of a program that is still running and discards
// what it sends. It leaves alone a program whose Open failed.
func (p *Program) Close(status int32) error {
	var err error
	if p.stream != nil {
		// A program that has not ended yet finds the answer when it does.
		err = p.answer(status)
		if !p.stream.Finished() {
			_, err = io.Copy(io.Discard, p.conn) // unread data must not block the program
		}
		p.stream.close()
	}
	if p.solver != nil {
		p.solver.close()
	}
	if cerr := p.conn.Close(); err == nil {
		err = cerr
	}
	return err
}
