//go:build outside && amd64

package forked

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"unsafe"
)

func TestSystemRandom(t *testing.T) {
	var random [16]byte
	rand.Read(random[:])
	fmt.Printf("random %x\n", random)
}

func TestMask(t *testing.T) {
	if syscall.Umask(0o77) == 0o77 {
		t.Error("the mask of an execution before")
	}
}

// open counts the descriptors of the null device.
func open(t *testing.T) (n int) {
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		if name, _ := os.Readlink(link); name == os.DevNull {
			n++
		}
	}
	return n
}

func TestKeepsFile(t *testing.T) {
	fd, err := syscall.Open(os.DevNull, syscall.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("descriptor", fd, "of", open(t))
}

// call makes a system call, which heisen does not see.
func call(number, a, b, c uintptr) (result uintptr)

func TestRawFile(t *testing.T) {
	name := append([]byte(os.DevNull), 0)
	fmt.Println("descriptor", call(syscall.SYS_OPEN, uintptr(unsafe.Pointer(&name[0])), syscall.O_RDONLY, 0))
	if call(syscall.SYS_UMASK, 0o77, 0, 0) == 0o77 {
		t.Error("the mask of an execution before")
	}
}
