//go:build darwin || freebsd || linux

package recorder

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// newListener returns a socket for programs that use the system calls of Linux, and named pipes for others.
func newListener() (*Listener, error) {
	if runtime.GOOS == "linux" && Used() == Native {
		return listenInFolder(newSocket)
	}
	return listenInFolder(newDoor)
}

// A door is an entrance of named pipes, which a program can open without any system call that package runtime lacks. The
// program writes a number to the door. The recorder makes a folder of that name, with a pipe for each direction, and the
// program opens them.
//
// A pipe has an end once nobody has it open to write. So the recorder keeps the pipe from the program open to write until
// the program has arrived: something comes from it, or a thread that opens the other pipe need no longer wait, because the
// program reads it.
type door struct {
	path string
	in   *os.File // gets the numbers
	hold *os.File // keeps the door open

	mu       sync.Mutex
	expected map[*piped]bool // have written their numbers, and were not seen yet
	ended    bool            // no more programs are admitted
	empty    chan struct{}   // closed once that is so and none is expected
}

// arrival is how long a program that has written its number may take to open its pipes once no more programs are admitted.
const arrival = time.Second

func newDoor(path string) (*door, error) {
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		return nil, &os.PathError{Op: "mkfifo", Path: path, Err: err}
	}
	in, hold, err := openBoth(path)
	if err != nil {
		return nil, err
	}
	return &door{path: path, in: in, hold: hold, expected: map[*piped]bool{}, empty: make(chan struct{})}, nil
}

// openBoth opens both ends of a named pipe. Reads and writes wait, in threads of their own: on macOS, Go's poller does not
// notice the end of a named pipe (go.dev/issue/24164).
func openBoth(path string) (in, out *os.File, err error) {
	if in, err = openEnd(path, syscall.O_RDONLY); err != nil {
		return nil, nil, err
	}
	if out, err = openEnd(path, syscall.O_WRONLY); err != nil {
		return nil, nil, errors.Join(err, in.Close())
	}
	return in, out, nil
}

// openEnd opens an end of a named pipe, to write only if the other one is open.
func openEnd(path string, mode int) (*os.File, error) {
	fd, err := syscall.Open(path, mode|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	if err := syscall.SetNonblock(fd, false); err != nil {
		return nil, errors.Join(err, syscall.Close(fd))
	}
	return os.NewFile(uintptr(fd), path), nil
}

func (d *door) address() string { return d.path }

func (d *door) accept() (*Program, error) {
	var number [8]byte
	if _, err := io.ReadFull(d.in, number[:]); err != nil {
		d.end()
		if err == io.EOF || errors.Is(err, os.ErrClosed) {
			err = net.ErrClosed
		}
		return nil, err
	}
	p, err := withDescriptors(func() (*piped, error) { return d.admit(binary.NativeEndian.Uint64(number[:])) })
	if err != nil {
		d.in.Close()
		return nil, err
	}
	return &Program{conn: p, tells: true}, nil
}

// admit makes the pipes of a program. After end it returns net.ErrClosed.
func (d *door) admit(number uint64) (*piped, error) {
	folder := filepath.Join(filepath.Dir(d.path), fmt.Sprintf("%016x", number))
	made := folder + ".new"
	p := &piped{door: d, folder: folder}
	err := p.makePipes(made)
	if err == nil {
		err = d.expect(p, made)
	}
	if err != nil {
		for _, f := range []*os.File{p.in, p.held, p.out} {
			f.Close() // nil is an error
		}
		return nil, errors.Join(err, os.RemoveAll(made))
	}
	p.received, p.receive = io.Pipe()
	go p.await()
	go p.pump()
	return p, nil
}

// expect puts a program on the list, and gives the folder with its pipes the name by which the program knows it.
func (d *door) expect(p *piped, made string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended {
		return net.ErrClosed
	}
	if err := os.Rename(made, p.folder); err != nil {
		return err
	}
	d.expected[p] = true
	return nil
}

// end notes that no more programs are admitted. Those that are expected and do not arrive in time are given up: they were
// killed.
func (d *door) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended {
		return
	}
	if d.ended = true; len(d.expected) == 0 {
		close(d.empty)
		return
	}
	time.AfterFunc(arrival, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		for p := range d.expected {
			d.takeOff(p)
		}
	})
}

// arrived notes that a program has opened its pipes, or has ended.
func (d *door) arrived(p *piped) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.expected[p] {
		d.takeOff(p)
	}
}

// takeOff takes a program off the list. The caller holds d.mu.
func (d *door) takeOff(p *piped) {
	p.held.Close()
	p.instead, _ = openEnd(p.answers(), syscall.O_RDONLY) // nobody waits for the program any more
	os.RemoveAll(p.folder)
	if delete(d.expected, p); d.ended && len(d.expected) == 0 {
		close(d.empty)
	}
}

// stop lets the door end once all numbers are read.
func (d *door) stop() error { return d.hold.Close() }

// close returns when no program is expected any more.
func (d *door) close() error {
	d.hold.Close() // it may be closed
	d.end()
	<-d.empty
	return d.in.Close()
}

// piped is the connection of a program by named pipes.
type piped struct {
	door    *door
	folder  string
	in, out *os.File

	held    *os.File // writes to in, until the program has arrived
	instead *os.File // reads from out instead of the program, until await knows that it need not wait; guarded by door.mu

	// What comes from in goes through here: a thread that waits for a pipe cannot be interrupted.
	received *io.PipeReader
	receive  *io.PipeWriter
}

// answers returns the name of the pipe to the program.
func (p *piped) answers() string { return filepath.Join(p.folder, "answers") }

// makePipes makes the pipes in a folder, which may get another name.
func (p *piped) makePipes(folder string) error {
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	events, answers := filepath.Join(folder, "events"), filepath.Join(folder, "answers")
	for _, path := range []string{events, answers} {
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			return &os.PathError{Op: "mkfifo", Path: path, Err: err}
		}
	}
	var err error
	if p.in, p.held, err = openBoth(events); err != nil {
		return err
	}
	reader, out, err := openBoth(answers)
	if err != nil {
		return err
	}
	p.out = out
	return reader.Close()
}

// await waits until the program has arrived.
func (p *piped) await() {
	w, err := os.OpenFile(p.answers(), os.O_WRONLY, 0)
	if err == nil {
		w.Close()
	}
	p.door.arrived(p)
	p.door.mu.Lock()
	defer p.door.mu.Unlock()
	p.instead.Close() // nil is an error
}

// pump passes on what comes from the program, until it ends or the connection does.
func (p *piped) pump() {
	buf := make([]byte, inputBytes)
	n, err := p.in.Read(buf)
	p.door.arrived(p)
	for err == nil {
		if _, err = p.receive.Write(buf[:n]); err == nil {
			n, err = p.in.Read(buf)
		}
	}
	p.in.Close()
	p.receive.CloseWithError(err)
}

func (p *piped) Read(b []byte) (int, error) { return p.received.Read(b) }

func (p *piped) Write(b []byte) (int, error) { return p.out.Write(b) }

func (p *piped) CloseRead() error { return p.receive.Close() }

// Close leaves it to pump to close the end that it reads from.
func (p *piped) Close() error { return errors.Join(p.receive.Close(), p.out.Close()) }
