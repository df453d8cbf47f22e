//go:build darwin || freebsd || linux

package recorder

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/heisen-go/heisen"
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

// TestTold: what a program tells of its places are the names of sites, and what no program tells is an error.
func TestTold(t *testing.T) {
	frames := []heisen.Frame{{Func: "a.b[...].c", File: "/a.go", Line: 7, Start: 5}, {Func: "a.d", File: "/d.go", Line: 1, Start: 1}}
	rec := append(helloMessage(), namesMessage(40, frames)...)
	s, err := NewStream(bytes.NewReader(append(rec, message(nil, msgBye, 0, 0, 0)...)), nil)
	if err != nil {
		t.Fatal(err)
	}
	s.SetSymbolizer(s.told)
	if _, err := drain(s); err != nil {
		t.Fatal(err)
	}
	for offset, want := range map[uint32][]heisen.Frame{40: frames, 41: nil} {
		if got, err := s.told.Frames([]uint32{offset}); err != nil || !slices.Equal(got[0], want) {
			t.Errorf("at %d: %v, %v", offset, got, err)
		}
	}
	for name, bad := range map[string][]byte{
		"outside": namesMessage(testTextSize+1, frames),
		"empty":   message(nil, msgNames, 40),
		"many":    message(nil, msgNames, 40, 1<<31),
		"cut":     message(nil, msgNames, 40, 3),
	} {
		if _, _, err := readAll(t, append(helloMessage(), bad...)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
