package recorder

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/core/wire"
)

// The programs that connect here are this one, so it is its own symbolizer, like
// every instrumented program.
func TestMain(m *testing.M) {
	if os.Getenv(wire.SymbolizeEnv) == strconv.Itoa(os.Getppid()) {
		answerAll(os.Stdin, os.Stdout)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// answerAll is a symbolizer for which every program counter is in main.main, at
// the line of its offset.
func answerAll(in io.Reader, out io.Writer) {
	number := func() (n uint32, err error) {
		err = binary.Read(in, binary.LittleEndian, &n)
		return n, err
	}
	for {
		n, err := number()
		if err != nil {
			return
		}
		frames := make([][]heisen.Frame, n)
		for i := range frames {
			off, _ := number()
			frames[i] = []heisen.Frame{{Func: "main.main", File: "main.go", Line: int(off)}}
		}
		out.Write(answer(frames))
	}
}

func listen(t *testing.T) *Listener {
	t.Helper()
	l, err := Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// A peer is the other end of a connection.
type peer interface {
	io.ReadWriteCloser
	CloseWrite() error
}

// connect does what an instrumented program does first.
func connect(t *testing.T, l *Listener) peer {
	t.Helper()
	path, ok := strings.CutPrefix(l.Env(), wire.SocketEnv+"=")
	if !ok {
		t.Fatalf("environment %q", l.Env())
	}
	conn, err := enter(l, path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// ownHello is the start of a recording of this process, so that there is an
// executable.
func ownHello() []byte {
	return message(nil, wire.MsgHello, 0, wire.Version, testText, testTextSize, uint64(os.Getpid()), 0)
}

func accept(t *testing.T, l *Listener) *Program {
	t.Helper()
	p, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// open opens a program that has sent ownHello.
func open(t *testing.T, p *Program) *Stream {
	t.Helper()
	s, err := p.Open(Want{})
	if err != nil {
		t.Fatal(err)
	}
	if s.PID() != os.Getpid() {
		t.Errorf("process %d", s.PID())
	}
	return s
}

// status is the answer that a program waits for, when it starts and when it ends.
func status(t *testing.T, conn io.Reader) int32 {
	t.Helper()
	var b [4]byte
	if _, err := io.ReadFull(conn, b[:]); err != nil {
		t.Errorf("status: %v", err)
	}
	return int32(binary.LittleEndian.Uint32(b[:]))
}

func TestProgram(t *testing.T) { eachEntrance(t, checkProgram) }

func checkProgram(t *testing.T) {
	l := listen(t)
	conn := connect(t, l)
	conn.Write(ownHello())
	p := accept(t, l)
	s := open(t, p)
	if got := status(t, conn); got != 0 && !p.tells || got != wire.WantNames && p.tells {
		t.Errorf("the program may start: %d", got)
	}

	r := newRecorder(1)
	r.goroutine(0, true)
	r.access(0, 0, wire.OpRead, varBase, 12, 1)
	want := []heisen.Frame{{Func: "main.main", File: "main.go", Line: 12}}
	if p.tells {
		conn.Write(namesMessage(12, want))
	}
	conn.Write(r.bye(0)[len(helloMessage()):])
	out, err := drain(s)
	if err != nil || len(out) != 2 || !s.Finished() {
		t.Fatalf("%d events, error %v, finished %v", len(out), err, s.Finished())
	}
	if got := s.Symbols().Site(out[1].Site).Frames; !slices.Equal(got, want) {
		t.Errorf("frames %v", got)
	}
	if err := p.Close(66); err != nil {
		t.Error(err)
	}
	if got := status(t, conn); got != 66 {
		t.Errorf("status %d", got)
	}
}

// TestCloseEarly closes a program whose stream was not read to its end, because it is corrupt or
// because the rest is not needed. The program is not blocked, however much it sends, and gets its
// status at its regular end.
func TestCloseEarly(t *testing.T) { eachEntrance(t, checkCloseEarly) }

func checkCloseEarly(t *testing.T) {
	l := listen(t)
	conn := connect(t, l)
	conn.Write(ownHello())
	p := accept(t, l)
	s := open(t, p)
	status(t, conn)
	conn.Write(message(nil, 77, 0))
	if _, err := s.Next(make([]heisen.Record, 1)); !errors.Is(err, ErrCorrupt) {
		t.Errorf("error %v", err)
	}
	closed := make(chan error)
	go func() { closed <- p.Close(3) }()
	if _, err := conn.Write(make([]byte, 4<<20)); err != nil {
		t.Errorf("the program is blocked: %v", err)
	}
	if got := status(t, conn); got != 3 {
		t.Errorf("status %d", got)
	}
	conn.Close()
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

// TestAbandon abandons a program that does not end.
func TestAbandon(t *testing.T) { eachEntrance(t, checkAbandon) }

func checkAbandon(t *testing.T) {
	l := listen(t)
	conn := connect(t, l)
	conn.Write(ownHello())
	p := accept(t, l)
	s := open(t, p)
	read := make(chan error)
	go func() {
		_, err := drain(s)
		read <- err
	}()
	p.Abandon()
	if err := <-read; err != nil {
		t.Errorf("the stream of an abandoned program: %v", err)
	}
	if err := p.Close(0); err != nil {
		t.Error(err)
	}
	_, err := conn.Write([]byte("more"))
	for start := time.Now(); err == nil; _, err = conn.Write([]byte("more")) { // what waits for a pipe notices with the first
		if time.Since(start) > time.Minute {
			t.Fatal("an abandoned program can still send")
		}
	}
}

// TestNoRecording connects without ever sending a start.
func TestNoRecording(t *testing.T) { eachEntrance(t, checkNoRecording) }

func checkNoRecording(t *testing.T) {
	l := listen(t)
	for _, start := range [][]byte{nil, []byte("hello"), bytes.Repeat([]byte{0xff}, 100)} {
		conn := connect(t, l)
		conn.Write(start)
		conn.CloseWrite()
		p := accept(t, l)
		if _, err := p.Open(Want{}); err == nil {
			t.Errorf("a program that says %q is opened", start)
		}
		p.Close(0)
		// The program need not wait for anything.
		if n, err := conn.Read(make([]byte, 4)); err == nil {
			t.Errorf("it is sent %d bytes", n)
		}
		conn.Close()
	}
}

// TestKilled closes a program that has been killed.
func TestKilled(t *testing.T) { eachEntrance(t, checkKilled) }

func checkKilled(t *testing.T) {
	l := listen(t)
	conn := connect(t, l)
	conn.Write(ownHello())
	p := accept(t, l)
	s := open(t, p)
	conn.Close()
	if out, err := drain(s); err != nil || len(out) > 0 {
		t.Errorf("%d events, error %v", len(out), err)
	}
	if s.Finished() {
		t.Error("a killed program has ended regularly")
	}
	if err := p.Close(0); err != nil {
		t.Error(err)
	}
}

// TestStop accepts every program that has connected before the stop, however slowly, and even those
// that have ended.
func TestStop(t *testing.T) { eachEntrance(t, checkStop) }

func checkStop(t *testing.T) {
	l := listen(t)
	const n = 30
	for i := range n {
		conn := connect(t, l)
		conn.Write(ownHello())
		if i%2 == 0 {
			conn.Close()
		}
	}
	if err := l.Stop(); err != nil {
		t.Fatal(err)
	}
	for range n {
		p := accept(t, l)
		open(t, p)
		p.conn.Close()
		if p.solver != nil {
			p.solver.close()
		}
	}
	for range 2 {
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("after the last: error %v", err)
		}
	}
}

// TestStopWaiting ends an Accept that is waiting.
func TestStopWaiting(t *testing.T) { eachEntrance(t, checkStopWaiting) }

func checkStopWaiting(t *testing.T) {
	for name, stop := range map[string]func(*Listener) error{"stop": (*Listener).Stop, "close": (*Listener).Close} {
		l := listen(t)
		ended := make(chan error)
		go func() {
			_, err := l.Accept()
			ended <- err
		}()
		time.Sleep(time.Millisecond)
		if err := stop(l); err != nil {
			t.Error(err)
		}
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestClose checks that Close leaves nothing in the file system and does not affect connected
// programs.
func TestClose(t *testing.T) { eachEntrance(t, checkClose) }

func checkClose(t *testing.T) {
	l := listen(t)
	conn := connect(t, l)
	conn.Write(ownHello())
	p := accept(t, l)
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	checkGone(t, l)
	s := open(t, p)
	conn.Write(message(nil, wire.MsgBye, 0, 0, 0))
	if _, err := drain(s); err != nil {
		t.Error(err)
	}
	p.Close(0)
}
