//go:build darwin || freebsd || linux

package recorder

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestGivenUp: a program that was killed before it has opened its pipes blocks nobody, and leaves nothing.
func TestGivenUp(t *testing.T) {
	t.Setenv(portableEnv, "1")
	l := listen(t)
	path := l.entrance.address()
	for number := range uint64(3) {
		if err := announce(path, number+1); err != nil {
			t.Fatal(err)
		}
	}
	half := filepath.Join(filepath.Dir(path), fmt.Sprintf("%016x", 1), "events")
	var killed []*Program
	for range 3 {
		killed = append(killed, accept(t, l))
	}
	f, err := openEnd(half, os.O_WRONLY) // this one has opened the first
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	conn := connect(t, l) // another one is not kept from connecting
	conn.Write(ownHello())
	open(t, accept(t, l))

	l.Stop()
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after the last: error %v", err)
	}
	for _, p := range killed {
		if _, err := p.Open(Want{}); err == nil {
			t.Error("a program that was killed is opened")
		}
		p.Close(0)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(path)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder: %v", err)
	}
}

// TestTooLate: a program whose number is read while the door is closed is not admitted, leaves nothing, and the door stays closed.
func TestTooLate(t *testing.T) {
	dir := t.TempDir()
	d, err := newDoor(filepath.Join(dir, "events"))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.close(); err != nil {
		t.Fatal(err)
	}
	if _, err := d.admit(1); !errors.Is(err, net.ErrClosed) {
		t.Errorf("error %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "0*")); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
	if err := os.Mkdir(filepath.Join(dir, fmt.Sprintf("%016x", 2)), 0o700); err != nil {
		t.Fatal(err)
	}
	if d, err = newDoor(filepath.Join(dir, "again")); err != nil {
		t.Fatal(err)
	}
	taken := filepath.Join(dir, fmt.Sprintf("%016x", 2), "in the way")
	if err := os.WriteFile(taken, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := d.admit(2); err == nil {
		t.Error("a folder that is there already is replaced")
	}
	if err := d.close(); err != nil { // it waits for nobody
		t.Error(err)
	}
}

// TestNobodyAtTheDoor: a program notices that the recorder is gone, also one that was killed.
func TestNobodyAtTheDoor(t *testing.T) {
	t.Setenv(portableEnv, "1")
	l := listen(t)
	d := l.entrance.(*door)
	d.hold.Close()
	d.in.Close()
	if err := announce(d.path, 1); err == nil {
		t.Error("a number is written that nobody reads")
	}
}

// TestSameNumber: a number that comes again while its folder is there is an error, and leaves nothing behind.
func TestSameNumber(t *testing.T) {
	t.Setenv(portableEnv, "1")
	l := listen(t)
	path := l.entrance.address()
	for range 2 {
		if err := announce(path, 7); err != nil {
			t.Fatal(err)
		}
	}
	accept(t, l)
	if _, err := l.Accept(); err == nil {
		t.Error("two programs have the same pipes")
	}
}

// pipesPeer connects by named pipes. What is written before the listener accepts it is sent then.
type pipesPeer struct {
	folder  string
	arrived chan struct{} // closed once the pipes are open, or never will be
	in, out *os.File

	mu      sync.Mutex
	pending []byte // not written yet
	is      bool   // arrived
	over    bool   // nothing more will be written
	closed  bool
}

// announce writes a number to the door at path.
func announce(path string, number uint64) error {
	f, err := openEnd(path, syscall.O_WRONLY)
	if err != nil {
		return err
	}
	_, err = f.Write(binary.NativeEndian.AppendUint64(nil, number))
	return errors.Join(err, f.Close())
}

// enterByDoor connects by named pipes.
func enterByDoor(path string, number uint64) (*pipesPeer, error) {
	p := &pipesPeer{folder: filepath.Join(filepath.Dir(path), fmt.Sprintf("%016x", number)), arrived: make(chan struct{})}
	if err := announce(path, number); err != nil {
		return nil, err
	}
	go p.arrive()
	return p, nil
}

// arrive opens the pipes once they are there, unless the whole folder is gone.
func (p *pipesPeer) arrive() {
	defer close(p.arrived)
	var err error
	for p.out, err = openEnd(p.folder+"/events", syscall.O_WRONLY); err != nil; p.out, err = openEnd(p.folder+"/events", syscall.O_WRONLY) {
		if _, gone := os.Stat(filepath.Dir(p.folder)); gone != nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
	p.in, _ = openEnd(p.folder+"/answers", syscall.O_RDONLY)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out.Write(p.pending)
	if p.is = true; p.over {
		p.out.Close()
	}
	if p.closed {
		p.in.Close()
	}
}

func (p *pipesPeer) Read(b []byte) (int, error) {
	<-p.arrived
	return p.in.Read(b)
}

func (p *pipesPeer) Write(b []byte) (int, error) {
	p.mu.Lock()
	if !p.is {
		defer p.mu.Unlock()
		p.pending = append(p.pending, b...)
		return len(b), nil
	}
	p.mu.Unlock()
	return p.out.Write(b)
}

func (p *pipesPeer) CloseWrite() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over = true; p.is {
		return p.out.Close()
	}
	return nil
}

func (p *pipesPeer) Close() error {
	err := p.CloseWrite()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed = true; p.is {
		err = errors.Join(err, p.in.Close())
	}
	return err
}
