//go:build darwin || freebsd || linux

package recorder

import (
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// eachEntrance runs a test with each kind of entrance.
func eachEntrance(t *testing.T, test func(t *testing.T)) {
	for name, portable := range map[string]string{"socket": "", "pipes": "1"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(portableEnv, portable)
			test(t)
		})
	}
}

// enter connects to a listener at path.
func enter(l *Listener, path string) (peer, error) {
	if _, ok := l.entrance.(*door); ok {
		return enterByDoor(path, rand.Uint64())
	}
	return net.DialUnix("unix", nil, &net.UnixAddr{Net: "unix", Name: path})
}

func TestListenFails(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	if _, err := Listen(); err == nil {
		t.Error("no error where there is no temporary folder")
	}
}

// TestLongFolder: the folder for temporary files may have a name that is too long for a socket.
func TestLongFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", dir)
	l, err := Listen()
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left behind, %v", left, err)
	}
}

// TestAcceptWithoutDescriptors: a program that connects while there are too many open files is accepted
// once there are fewer.
func TestAcceptWithoutDescriptors(t *testing.T) {
	t.Setenv(portableEnv, "")
	l := listen(t)
	conn, err := net.Dial("unix", l.entrance.address())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	none := limit
	none.Cur = 0
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	_, err = os.Open(os.DevNull)
	again := time.AfterFunc(100*time.Millisecond, func() { syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit) })
	p, failed := l.Accept()
	if again.Stop() {
		syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)
	}
	if !errors.Is(err, syscall.EMFILE) {
		t.Fatalf("there were descriptors left: %v", err)
	}
	if failed != nil {
		t.Fatal(failed)
	}
	p.conn.Close()
}

// TestAcceptFails: after an error nobody can connect and wait.
func TestAcceptFails(t *testing.T) {
	t.Setenv(portableEnv, "")
	l := listen(t)
	l.entrance.(*socket).l.SetDeadline(time.Now())
	if p, err := l.Accept(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("accepted %v, %v", p, err)
	}
	if conn, err := net.Dial("unix", l.entrance.address()); err == nil {
		conn.Close()
		t.Error("a program can connect")
	}
}
