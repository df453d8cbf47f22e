package recorder

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/heisen-go/heisen/internal/core/wire"
)

// eachEntrance runs a test with the only kind of entrance.
func eachEntrance(t *testing.T, test func(t *testing.T)) { test(t) }

// instancePeer connects by a named pipe. It cannot close one direction.
type instancePeer struct{ *os.File }

func (p instancePeer) CloseWrite() error { return p.Close() }

// Close closes it once.
func (p instancePeer) Close() error {
	if err := p.File.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// enter connects to a listener at path, as programs do.
func enter(_ *Listener, path string) (peer, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err == nil {
			return instancePeer{f}, nil
		}
		if !errors.Is(err, windows.ERROR_PIPE_BUSY) || !admits(path) {
			return nil, err
		}
		time.Sleep(time.Millisecond)
	}
}

// admits reports whether the door of the pipe at path is there.
func admits(path string) bool {
	name, err := windows.UTF16PtrFromString(path + doorEnding)
	if err != nil {
		return false
	}
	h, err := windows.CreateFile(name, 0, 0, nil, windows.OPEN_EXISTING, 0, 0)
	if err == nil {
		windows.CloseHandle(h)
	}
	return !errors.Is(err, windows.ERROR_FILE_NOT_FOUND)
}

// checkGone checks that nobody can connect to a listener that was closed.
func checkGone(t *testing.T, l *Listener) {
	t.Helper()
	if conn, err := enter(l, l.entrance.address()); err == nil {
		conn.Close()
		t.Error("a program can connect")
	}
}

// TestLate: a program that comes too late waits for nobody, also while another one is connected.
func TestLate(t *testing.T) {
	l := listen(t)
	conn := connect(t, l)
	conn.Write(ownHello())
	p := accept(t, l)
	defer p.Close(0)
	if err := l.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("error %v", err)
	}
	if _, err := enter(l, l.entrance.address()); !errors.Is(err, windows.ERROR_PIPE_BUSY) {
		t.Errorf("error %v", err)
	}
	open(t, p)
	conn.Close()
}

// TestTaken: nobody else can have prepared the pipe.
func TestTaken(t *testing.T) {
	if windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil {
		t.Skip("wine 8 makes further instances with FILE_FLAG_FIRST_PIPE_INSTANCE, too")
	}
	l := listen(t)
	for _, ending := range []string{"", doorEnding} {
		if _, err := l.entrance.(*hall).instance(l.entrance.address()+ending, windows.FILE_FLAG_FIRST_PIPE_INSTANCE); !errors.Is(err, windows.ERROR_ACCESS_DENIED) {
			t.Errorf("%q: error %v", ending, err)
		}
	}
	if _, err := newHall(l.entrance.address()); err == nil {
		t.Error("two listeners have the same name")
	}
}

// TestAtOnce: programs that come at the same time wait for each other, and are all accepted.
func TestAtOnce(t *testing.T) {
	l := listen(t)
	const n = 50
	var programs sync.WaitGroup
	for range n {
		programs.Go(func() {
			conn, err := enter(l, l.entrance.address())
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			conn.Write(ownHello())
			if got := status(t, conn); got != wire.WantNames {
				t.Errorf("answer %d", got)
			}
		})
	}
	for range n {
		p := accept(t, l)
		open(t, p)
		if err := p.Close(0); err != nil {
			t.Error(err)
		}
	}
	programs.Wait()
}

// TestUnaccepted: a program that is connected when the listener is closed, and was not accepted, does not wait for ever.
func TestUnaccepted(t *testing.T) {
	l := listen(t)
	conn := connect(t, l)
	for h := l.entrance.(*hall); ; time.Sleep(time.Millisecond) {
		h.mu.Lock()
		come := len(h.waiting)
		h.mu.Unlock()
		if come > 0 {
			break
		}
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if n, err := conn.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("%d bytes, error %v", n, err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("error %v", err)
	}
}

// TestOnlyThisUser: the pipe's list of who may open it has this user alone.
func TestOnlyThisUser(t *testing.T) {
	l := listen(t)
	pipe := windows.Handle(connect(t, l).(instancePeer).Fd())
	got, err := windows.GetSecurityInfo(pipe, windows.SE_KERNEL_OBJECT, windows.DACL_SECURITY_INFORMATION)
	if err != nil {
		t.Fatal(err)
	}
	list, _, err := got.DACL()
	if err != nil || list == nil || list.AceCount != 1 {
		t.Fatalf("%v: %v, %v", got, list, err)
	}
	var allowed *windows.ACCESS_ALLOWED_ACE
	if err := windows.GetAce(list, 0, &allowed); err != nil {
		t.Fatal(err)
	}
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		t.Fatal(err)
	}
	if !(*windows.SID)(unsafe.Pointer(&allowed.SidStart)).Equals(user.User.Sid) {
		t.Errorf("%v is allowed, not %v alone", got, user.User.Sid)
	}
}
