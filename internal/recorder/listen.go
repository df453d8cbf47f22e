package recorder

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/heisen-go/heisen"
)

// Listener is where instrumented programs connect. Close it when no program will
// come any more.
type Listener struct {
	dir     string
	l       *net.UnixListener
	stopped atomic.Bool // nobody will come any more
	ended   atomic.Bool // nobody has come
}

// Listen makes a socket in a new temporary folder. The length of its name is always
// the same: programs keep it in their memory, and addresses in two runs that are to be
// the same must not depend on it.
func Listen() (*Listener, error) {
	dir, err := makeDir()
	if err != nil {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: filepath.Join(dir, "events")})
	if err != nil {
		os.RemoveAll(dir)
		return nil, fmt.Errorf("socket for events: %w", err)
	}
	return &Listener{dir: dir, l: l}, nil
}

func makeDir() (dir string, err error) {
	for range 1000 {
		dir = filepath.Join(os.TempDir(), fmt.Sprintf("heisen-%08x", rand.Uint32()))
		if err = os.Mkdir(dir, 0o700); !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return dir, err
}

// Env returns the environment variable that makes an instrumented program, and
// those that it starts, connect here.
func (l *Listener) Env() string { return socketEnv + "=" + l.l.Addr().String() }

// Accept waits for the next program. After Stop or Close it returns
// net.ErrClosed.
func (l *Listener) Accept() (*Program, error) {
	if l.ended.Load() {
		return nil, net.ErrClosed
	}
	conn, err := l.l.AcceptUnix()
	if err != nil {
		return nil, err
	}
	if l.stopped.Load() && conn.RemoteAddr().String() == l.last().Name {
		l.ended.Store(true)
		return nil, errors.Join(net.ErrClosed, conn.Close())
	}
	return &Program{conn: conn}, nil
}

// Stop makes Accept return net.ErrClosed when it has returned every program that
// is connected already: a connection of its own comes after them.
func (l *Listener) Stop() error {
	l.stopped.Store(true)
	conn, err := net.DialUnix("unix", l.last(), l.l.Addr().(*net.UnixAddr))
	if err != nil {
		return errors.Join(err, l.l.Close()) // Accept is not to wait for ever
	}
	return conn.Close()
}

// last is the address from which Stop connects.
func (l *Listener) last() *net.UnixAddr {
	return &net.UnixAddr{Net: "unix", Name: filepath.Join(l.dir, "last")}
}

// Close removes the socket and its folder. Programs that were accepted stay
// connected.
func (l *Listener) Close() error {
	return errors.Join(l.l.Close(), os.RemoveAll(l.dir))
}

// Program is a connected program.
type Program struct {
	// Stripped says that the program has no symbol table, so that hidden calls reach
	// all objects. Open sets it, if packages are hidden.
	Stripped bool

	conn   *net.UnixConn
	stream *Stream
	solver *processSymbolizer
}

// Mode is what of a program's run is recorded.
type Mode int32

const (
	// Everything is every access that the compiler has instrumented.
	Everything Mode = 0
	// Unrepeated leaves out an access if the same goroutine has made the same one
	// (instruction, kind, bytes) before in the same span, that is, without having
	// made known to others in between what it did. For detectors that follow
	// happens-before, with lock edges or without, and for those that compare the
	// locks held on top of that, the set of unique racing pairs of sites is the
	// same; those that follow the states of a variable, as Eraser does, or the
	// order of accesses within a goroutine need Everything. It is the redundancy
	// within a thread of TREE (section 3.3), made safe for detectors that follow
	// lock edges. A goroutine whose lock another one releases may be taken to hold it
	// still until its next synchronisation.
	Unrepeated Mode = wantFilter
	// Marked is Everything, with the flag Repeated on what Unrepeated leaves out.
	Marked Mode = wantFilter | wantMarks
	// FindingsOnly is no event, for programs that look for overlaps themselves and do nothing
	// else. Of its goroutines such a program tells only who those are that it has found to
	// do something, and who has started them and where; these have Begin and End events.
	FindingsOnly Mode = wantNothing
	// Races is Nothing, and races in the observed order are found by the program itself, as
	// vclock.FastTrack would find them. They come with the stream, see Stream.OnOverlap.
	Races Mode = wantNothing | wantRaces
	// EverythingAndRaces is Everything and Races: the words that race must be the same.
	EverythingAndRaces Mode = wantRaces
)

// Repeated is the flag of an access that a recording in the mode Marked tells to be
// redundant.
const Repeated heisen.Flags = 1 << 7

// Want is what a program is asked for.
type Want struct {
	Mode Mode
	// Live is what to look for while it runs; nil if nothing.
	Live *Live
	// Hidden is what is not recorded; the mode must be Everything then. nil if nothing.
	Hidden *Hidden
	// Symbolizer resolves the program's sites; nil if its executable is to be asked.
	Symbolizer Symbolizer
	// Schedule makes the run deterministic; nil if it is to run freely.
	Schedule *Schedule
}

// Open reads the start of the program's recording and asks for the rest. It blocks until
// the program has sent the start.
func (p *Program) Open(want Want) (*Stream, error) {
	if want.Hidden != nil && want.Mode != Everything {
		return nil, errors.New("where packages are hidden, everything else must be recorded")
	}
	var live, schedule []byte
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
	}
	stream, err := NewStream(p.conn, nil)
	if err != nil {
		return nil, err
	}
	// Without a symboliser the recording is as good, only harder to read.
	if solver, err := newProcessSymbolizer(stream.PID()); err == nil {
		p.solver = solver
		stream.SetSymbolizer(solver)
	}
	if want.Symbolizer != nil {
		stream.SetSymbolizer(want.Symbolizer)
	}
	flags := uint32(want.Mode)
	var messages []byte
	add := func(flag uint32, message []byte) {
		flags |= flag
		messages = append(append32(messages, uint32(len(message))), message...)
	}
	if want.Live != nil {
		add(wantOverlaps, live)
	}
	if want.Hidden != nil {
		message, err := want.Hidden.encode(p.Executable(), stream.hello.text)
		if message == nil {
			return nil, err
		}
		p.Stripped = err != nil
		if want.Hidden.Limit > 0 {
			stream.graph.limit = want.Hidden.Limit
		}
		add(wantHidden, message)
	}
	if want.Schedule != nil {
		add(wantSched, schedule)
	}
	p.stream = stream
	// Only now may the program go on, and end. If it is gone the stream will show.
	p.conn.Write(append(append32(nil, flags), messages...))
	return stream, nil
}

// Executable is the file that the program runs, until Close; nil if it cannot be
// read, and before Open.
func (p *Program) Executable() io.ReaderAt {
	if p.solver == nil {
		return nil
	}
	return p.solver.exe
}

func (p *Program) answer(v int32) error {
	_, err := p.conn.Write(binary.LittleEndian.AppendUint32(nil, uint32(v)))
	return err
}

// Abandon breaks the connection of a program that is still running; its stream
// ends. Unlike all else it may be called by any goroutine.
func (p *Program) Abandon() { p.conn.CloseRead() }

// Close ends the connection. status is what a program that ends regularly will
// exit with; it waits for that. Close waits for the end of a program that is
// still running, and drops what it sends; one whose Open failed it leaves alone.
func (p *Program) Close(status int32) error {
	var err error
	if p.stream != nil {
		// A program that has not ended yet finds its answer when it does.
		err = p.answer(status)
		if !p.stream.Finished() {
			_, err = io.Copy(io.Discard, p.conn) // what nobody reads must not block the program
		}
	}
	if p.solver != nil {
		p.solver.close()
	}
	if cerr := p.conn.Close(); err == nil {
		err = cerr
	}
	return err
}
