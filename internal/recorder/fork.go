package recorder

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/heisen-go/heisen/internal/core/wire"
)

// Forker makes processes of a program that waits at the end of its prologue. Each of them does what one that is started
// afresh with the same prologue would do. A Forker belongs to one goroutine.
type Forker struct {
	program *Program
	start   []byte // what the program has sent until then
}

// errCannotFork is wrapped by the errors of programs that are not to be forked.
var errCannotFork = errors.New("the program cannot be forked")

// Wait lets a program run to the end of its prologue, which want.Schedule must have, and wait there. Of the schedule, it uses what
// concerns the prologue. It returns an error if there is no such end, or if the program cannot be forked there: it has changed
// something besides its memory, or the system does not allow it. The program then ends. The caller closes the program in any case.
func (p *Program) Wait(want Want) (*Forker, error) {
	recorded := &recording{connection: p.conn, bytes: &bytes.Buffer{}}
	p.conn, p.forks = recorded, true
	stream, err := p.Open(want)
	if err != nil {
		return nil, err
	}
	stream.answer = nil
	for {
		m, err := stream.in.message()
		if err != nil {
			return nil, err
		}
		switch m.kind {
		case wire.MsgPrologue:
			if why := textOf(m.words); why != "" {
				return nil, fmt.Errorf("%w: %s", errCannotFork, why)
			}
			f := &Forker{program: p, start: recorded.bytes.Bytes()}
			p.conn, recorded.bytes = recorded.connection, nil
			return f, nil
		case wire.MsgCount, wire.MsgBye, wire.MsgRefused: // it wants an answer, or has ended
			return nil, fmt.Errorf("%w: message of kind %d", errCannotFork, m.kind)
		}
	}
}

// recording keeps what is read from a connection, unless bytes is nil.
type recording struct {
	connection
	bytes *bytes.Buffer
}

func (r *recording) Read(p []byte) (int, error) {
	n, err := r.connection.Read(p)
	if r.bytes != nil {
		r.bytes.Write(p[:n])
	}
	return n, err
}

// continued is the connection of a forked process. What is read begins with what was sent before.
type continued struct {
	connection
	both io.Reader
}

func (c *continued) Read(p []byte) (int, error) { return c.both.Read(p) }

// Fork makes a process with the given standard output and standard error. Its Program is to be opened with the Want of Wait, and a
// schedule that has the same prologue. The process is a child of this one, and leads a process group.
func (f *Forker) Fork(stdout, stderr *os.File) (*Program, *os.Process, error) {
	p, process, err := f.fork(wire.ForkWith, stdout, stderr, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("forking a process: %w", err)
	}
	return p, process, nil
}

// Rewinder is a process that was forked, and goes back to the end of its prologue after each execution, as long as that has changed
// nothing but memory. A Rewinder belongs to one goroutine.
type Rewinder struct {
	Process *os.Process // a child of this process, which leads a process group

	analyzer connection // the process takes requests from it
	start    []byte     // what the program has sent before
}

// Rewind makes a process as Fork does, that can go back after its execution.
func (f *Forker) Rewind(stdout, stderr *os.File) (*Program, *Rewinder, error) {
	r := &Rewinder{start: f.start}
	own, other, err := connectionPair()
	if err != nil {
		return nil, nil, fmt.Errorf("forking a process: %w", err)
	}
	defer other.Close()
	p, process, err := f.fork(wire.ForkAgain, stdout, stderr, other)
	if err != nil {
		own.Close()
		return nil, nil, fmt.Errorf("forking a process: %w", err)
	}
	r.Process, r.analyzer = process, own
	return p, r, nil
}

// Next lets the process make the next execution, with the given standard output and standard error.
func (r *Rewinder) Next(stdout, stderr *os.File) (*Program, error) {
	conn, err := request(r.analyzer, wire.ForkWith, stdout, stderr, nil)
	if err != nil {
		return nil, fmt.Errorf("rewinding a process: %w", err)
	}
	return continuing(r.start, conn), nil
}

// longExecution is after how much time a process that rewinds gets the runtime's monitor, without which a loop without calls never
// stops. It cannot go back then.
const longExecution = 100 * time.Millisecond

// Ended waits until the process has made its execution. It returns the exit status if the process can make another one, and false
// if it ends, or has ended.
func (r *Rewinder) Ended() (status int, again bool) {
	late := time.AfterFunc(longExecution, func() { wakeMonitor(r.Process) })
	defer late.Stop()
	var word [8]byte
	if _, err := io.ReadFull(r.analyzer, word[:]); err != nil {
		return 0, false
	}
	return int(binary.LittleEndian.Uint64(word[:])), true
}

// Close lets the process end, if it makes no execution.
func (r *Rewinder) Close() error { return r.analyzer.Close() }

// fork asks for a process.
func (f *Forker) fork(kind byte, stdout, stderr, analyzer *os.File) (*Program, *os.Process, error) {
	conn, err := request(f.program.conn, kind, stdout, stderr, analyzer)
	if err != nil {
		return nil, nil, err
	}
	pid, err := f.answer()
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	return continuing(f.start, conn), process, nil
}

// continuing returns the program of a forked process, which has sent some bytes before it was forked.
func continuing(start []byte, conn connection) *Program {
	return &Program{conn: &continued{conn, io.MultiReader(bytes.NewReader(start), conn)}, forked: true}
}

// answer returns the number of the new process.
func (f *Forker) answer() (pid int, err error) {
	m, err := f.program.stream.in.message()
	if err != nil {
		return 0, err
	}
	if m.kind != wire.MsgForked || len(m.words) != 1 {
		return 0, fmt.Errorf("%w: message of kind %d", ErrCorrupt, m.kind)
	}
	if pid = int(int64(m.words[0])); pid <= 0 {
		return 0, fmt.Errorf("error %d", -pid)
	}
	return pid, nil
}
