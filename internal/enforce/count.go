package enforce

import (
	"encoding/binary"
	"fmt"
	"os"

	"github.com/heisen-go/heisen/heal"
)

// Counts has how often a program acquired locks while it ran: its own, and those of a Plan by mode. It counts the
// calls, also those that find the lock held already.
type Counts struct {
	Program                   uint64
	Shared, Update, Exclusive uint64
}

// countsVariable is the environment variable with the name of the file for the counts.
const countsVariable = "HEISEN_LOCK_COUNTS"

// WriteCounting does what Write does, for programs that count their acquisitions. Each of these increments a number, so
// the programs are not to be timed. They count on Unix only. Acquisitions of the program in deferred calls, and in files
// that are generated or use cgo, are not counted.
func (plan *Plan) WriteCounting(dir string) (string, error) { return plan.write(dir, true) }

// NewCounts makes a file for the counts of a program, and returns what its environment needs.
func NewCounts(file string) (environment string, err error) {
	return countsVariable + "=" + file, os.WriteFile(file, make([]byte, countsSize), 0o666)
}

// ReadCounts returns what programs have counted since NewCounts.
func ReadCounts(file string) (Counts, error) {
	data, err := os.ReadFile(file)
	if err == nil && len(data) != countsSize {
		err = fmt.Errorf("%s has %d bytes", file, len(data))
	}
	if err != nil {
		return Counts{}, fmt.Errorf("reading the counts of locks: %w", err)
	}
	at := func(n heal.Mode) uint64 { return binary.NativeEndian.Uint64(data[8*n:]) }
	return Counts{Program: at(0), Shared: at(heal.Shared), Update: at(heal.Update), Exclusive: at(heal.Exclusive)}, nil
}

const countsSize = 4 * 8

// countSource is a file of package lock. It has the counts in memory that it shares with a file, because programs may end
// anywhere.
const countSource = `//go:build unix

package lock

import (
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"
)

var counts = openCounts()

func openCounts() *[4]atomic.Uint64 {
	file, err := os.OpenFile(os.Getenv("` + countsVariable + `"), os.O_RDWR, 0)
	if err != nil {
		return new([4]atomic.Uint64)
	}
	defer file.Close()
	memory, err := syscall.Mmap(int(file.Fd()), 0, 4*8, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return new([4]atomic.Uint64)
	}
	return (*[4]atomic.Uint64)(unsafe.Pointer(&memory[0]))
}

// Count counts an acquisition in a mode, and one of a lock of the program if it is 0.
func Count(mode Mode) { counts[mode].Add(1) }
`

// counted returns an operation that counts an acquisition: in a mode of heal, or of the program if it is 0.
func (w *writer) counted(mode int) string {
	return fmt.Sprintf("%s.Count(%s)", lockName, w.mode(heal.Mode(mode)))
}

// countable reports whether something can be written before a step.
func (w *writer) countable(u *unit, s *step) bool {
	return s.before.kind != deferred && u.flow.refused == "" && !w.p.foreign(u.File) && w.p.unwritable(u, s.before) == ""
}
