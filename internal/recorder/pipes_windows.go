package recorder

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/windows"
)

// newListener returns a named pipe of Windows.
func newListener() (*Listener, error) {
	h, err := newHall(fmt.Sprintf(`\\.\pipe\heisen-%016x`, rand.Uint64()))
	if err != nil {
		return nil, err
	}
	return &Listener{entrance: h}, nil
}

// doorEnding follows the name of a pipe in that of its door.
const doorEnding = "-door"

// A hall is an entrance with instances of a named pipe, one for each program, which only processes of this user can open.
// One more waits for the next program.
//
// A program that finds no free instance waits until there is one. The pipe exists as long as a program is connected, so that
// does not tell it whether more instances will come. Therefore there is another pipe, the door, to which nobody connects. It
// exists while programs are admitted, and also ends with this process.
type hall struct {
	name     string
	security *windows.SecurityAttributes
	stopped  windows.Handle // an event, set once no more programs are admitted
	shut     func() error   // sets it and closes the door
	left     chan struct{}  // closed once nothing waits for programs

	mu      sync.Mutex
	changed sync.Cond  // one of these
	waiting []*Program // are connected, and were not returned
	err     error      // why no more come
}

func newHall(name string) (*hall, error) {
	security, err := onlyThisUser()
	if err != nil {
		return nil, err
	}
	h := &hall{name: name, security: security, left: make(chan struct{})}
	h.changed.L = &h.mu
	door, err := h.instance(name+doorEnding, windows.FILE_FLAG_FIRST_PIPE_INSTANCE)
	if err != nil {
		return nil, err
	}
	first, err := h.instance(name, windows.FILE_FLAG_FIRST_PIPE_INSTANCE)
	if err == nil {
		h.stopped, err = windows.CreateEvent(nil, 1, 0, nil)
	}
	if err != nil {
		windows.CloseHandle(first) // it may be none
		return nil, errors.Join(err, windows.CloseHandle(door))
	}
	h.shut = sync.OnceValue(func() error { return errors.Join(windows.CloseHandle(door), windows.SetEvent(h.stopped)) })
	go h.admit(first)
	return h, nil
}

// onlyThisUser returns what lets no other user open a pipe.
func onlyThisUser() (*windows.SecurityAttributes, error) {
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return nil, err
	}
	allowed, err := windows.SecurityDescriptorFromString(fmt.Sprintf("D:P(A;;GA;;;%v)", user.User.Sid))
	if err != nil {
		return nil, err
	}
	security := &windows.SecurityAttributes{SecurityDescriptor: allowed}
	security.Length = uint32(unsafe.Sizeof(*security))
	return security, nil
}

// answerBytes is how much of an answer the system keeps until the program reads it.
const answerBytes = 64 << 10

// instance makes an instance of a named pipe.
func (h *hall) instance(name string, flags uint32) (windows.Handle, error) {
	text, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return windows.InvalidHandle, err
	}
	flags |= windows.PIPE_ACCESS_DUPLEX | windows.FILE_FLAG_OVERLAPPED
	instance, err := windows.CreateNamedPipe(text, flags, windows.PIPE_TYPE_BYTE|windows.PIPE_REJECT_REMOTE_CLIENTS,
		windows.PIPE_UNLIMITED_INSTANCES, answerBytes, inputBytes, 0, h.security)
	if err != nil {
		return windows.InvalidHandle, &os.PathError{Op: "CreateNamedPipe", Path: name, Err: err}
	}
	return instance, nil
}

// admit waits for programs until the hall is shut. The next instance is there before anybody knows of a program.
func (h *hall) admit(instance windows.Handle) {
	defer close(h.left)
	for {
		err := h.await(instance)
		if err != nil {
			windows.CloseHandle(instance)
			h.end(err)
			return
		}
		next, err := h.instance(h.name, 0)
		h.take(&Program{conn: &instanceConn{f: os.NewFile(uintptr(instance), h.name)}, tells: true})
		if err != nil {
			h.end(err)
			return
		}
		instance = next
	}
}

// await waits until a program has connected to an instance. It returns net.ErrClosed if the hall was shut before.
func (h *hall) await(instance windows.Handle) error {
	connected, err := windows.CreateEvent(nil, 1, 0, nil)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(connected)
	call := &windows.Overlapped{HEvent: connected}
	err = windows.ConnectNamedPipe(instance, call)
	switch err {
	case windows.ERROR_PIPE_CONNECTED, windows.ERROR_NO_DATA: // it came before the call, and may have gone
		return nil
	case windows.ERROR_IO_PENDING:
	default:
		return err
	}
	if which, _ := windows.WaitForMultipleObjects([]windows.Handle{connected, h.stopped}, false, windows.INFINITE); which != windows.WAIT_OBJECT_0 {
		windows.CancelIoEx(instance, call) // an error means that it has come just now
	}
	var none uint32
	err = windows.GetOverlappedResult(instance, call, &none, true)
	if err == windows.ERROR_OPERATION_ABORTED {
		return net.ErrClosed
	}
	return err
}

// take puts a program on the list of those that wait to be accepted.
func (h *hall) take(p *Program) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waiting = append(h.waiting, p)
	h.changed.Signal()
}

// end notes why no more programs come. Those that wait for a free instance do so no longer.
func (h *hall) end(err error) {
	h.shut()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.err = err
	h.changed.Signal()
}

func (h *hall) address() string { return h.name }

func (h *hall) accept() (*Program, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.waiting) == 0 {
		if h.err != nil {
			return nil, h.err
		}
		h.changed.Wait()
	}
	p := h.waiting[0]
	h.waiting = h.waiting[1:]
	return p, nil
}

func (h *hall) stop() error { return h.shut() }

// close disconnects programs that were not accepted.
func (h *hall) close() error {
	err := h.shut()
	<-h.left
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range h.waiting {
		p.conn.Close()
	}
	h.waiting, h.err = nil, net.ErrClosed
	return errors.Join(err, windows.CloseHandle(h.stopped))
}

// instanceConn is the connection of a program by an instance of a named pipe.
type instanceConn struct {
	f     *os.File
	ended atomic.Bool // CloseRead was called
}

func (c *instanceConn) Read(b []byte) (int, error) {
	n, err := c.f.Read(b)
	if c.ended.Load() && errors.Is(err, os.ErrClosed) {
		err = io.EOF
	}
	return n, err
}

func (c *instanceConn) Write(b []byte) (int, error) { return c.f.Write(b) }

// CloseRead closes both directions: a pipe cannot close one.
func (c *instanceConn) CloseRead() error {
	c.ended.Store(true)
	return c.f.Close()
}

func (c *instanceConn) Close() error {
	if err := c.f.Close(); !c.ended.Load() {
		return err
	}
	return nil
}
