package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/heisen-go/heisen/internal/cli"
	"github.com/heisen-go/heisen/internal/printable"
)

// terminal returns the two ends of a new terminal.
func terminal(t *testing.T) (screen, program *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { screen.Close() })
	const unlock, number = 0x40045431, 0x80045430
	zero, n := int32(0), uint32(0)
	for request, arg := range map[uintptr]unsafe.Pointer{unlock: unsafe.Pointer(&zero), number: unsafe.Pointer(&n)} {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, screen.Fd(), request, uintptr(arg)); errno != 0 {
			t.Fatal(errno)
		}
	}
	if program, err = os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { program.Close() })
	return screen, program
}

// printed returns what heisen trace print says of a file.
func printed(file string) string {
	_, out, _ := heisenCommand("trace", "print", file)
	return out
}

// TestNamesOnTerminals: whatever names a file has, no command writes their control characters to a terminal, and no
// trace in text has them. A binary trace has names as they are.
func TestNamesOnTerminals(t *testing.T) {
	dir := t.TempDir()
	traces := []string{
		"T0|w(\x1b]0;owned\x07x)|1\n",
		"\x1b[2J|w(x)|1\n",
		"T0|w(x)|\x1b[31mf.go:1\x9b0m\n",
		"T0|w(\u202ex)|\u009b2J\n",
		"T0|acq(\x08\x08l)|\x7f\nT0|rel(\x08\x08l)|\x0c\n",
		"T0|bad(\x1b[2J)|1\n",
	}
	for i, text := range traces {
		name := filepath.Join(dir, fmt.Sprintf("t%d.std", i))
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		binary := name + ".heisen"
		heisenCommand("trace", "convert", "-o", binary, name)
		for _, args := range [][]string{
			{"trace", "convert", "-o", "-", "-to", "std", name},
			{"trace", "convert", "-o", "-", binary},
			{"trace", "convert", "-o", "-", "-to", "binary", name},
			{"trace", "print", name}, {"trace", "validate", name}, {"trace", "stat", name},
			{"analyze", "-detect", "hb", name}, {"view", "-o", "-", name},
		} {
			screen, program := terminal(t)
			shown := make(chan []byte)
			go func() {
				var all []byte
				for b := make([]byte, 4096); ; {
					n, err := screen.Read(b)
					all = append(all, b[:n]...)
					if err != nil || bytes.Contains(all, []byte("that is all")) {
						shown <- all
						return
					}
				}
			}()
			cli.Main(context.Background(), cli.Tool{}, args, cli.Streams{In: strings.NewReader(""), Out: program, Err: program})
			fmt.Fprintln(program, "that is all")
			for _, r := range string(<-shown) {
				if r < ' ' && r != '\n' && r != '\r' && r != '\t' || r >= 0x7f && r < 0xa0 || r == 0x202e || r == 0xfffd {
					t.Errorf("%v of %q shows %U", args, text, r)
					break
				}
			}
		}
		if strings.Contains(text, "bad") {
			continue
		}
		for _, source := range []string{name, binary} {
			_, out, _ := heisenCommand("trace", "convert", "-o", "-", "-to", "std", source)
			if strings.Count(out, "\n") != strings.Count(text, "\n") || printable.Lines(out) != out {
				t.Errorf("%q becomes %q in a pipe", text, out)
			}
		}
		if shown := printed(name); shown == "" || shown != printed(binary) {
			t.Errorf("%q is not the same in a binary trace", text)
		}
	}
}
