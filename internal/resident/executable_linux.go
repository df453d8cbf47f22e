package resident

import (
	"bufio"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// dropExecutable drops the read-only pages of the executable. They are those of a file, so the kernel reads
// them again when they are used. Errors only mean that the process stays as large as it is.
func dropExecutable() {
	path, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer f.Close()
	for _, m := range droppable(f, path) {
		syscall.Syscall(syscall.SYS_MADVISE, m.from, m.to-m.from, syscall.MADV_DONTNEED)
	}
}

// mapping is a part of the address space, up to but without to.
type mapping struct{ from, to uintptr }

// droppable reads /proc/self/smaps. It returns the mappings of the file at path that cannot be written to and have
// no pages of their own. A position-independent executable has such pages where the loader has put addresses
// before it made the memory read-only. The text of a mapping begins like this:
//
//	00400000-00c3b000 r-xp 00000000 fe:01 1054 /usr/bin/heisen
//	Size:               8428 kB
//	Anonymous:             0 kB
func droppable(smaps io.Reader, path string) (all []mapping) {
	var at mapping
	wanted := false
	for lines := bufio.NewScanner(smaps); lines.Scan(); {
		first, rest, _ := strings.Cut(lines.Text(), " ")
		if low, high, isRange := strings.Cut(first, "-"); isRange {
			at, wanted = mapping{address(low), address(high)}, false
			fields := strings.SplitN(rest, " ", 5) // permissions, offset, device, inode, path
			wanted = len(fields) == 5 && strings.HasPrefix(fields[0], "r-") && strings.TrimLeft(fields[4], " ") == path && at.from < at.to
		} else if wanted && first == "Anonymous:" && strings.TrimSpace(rest) == "0 kB" {
			all = append(all, at)
		}
	}
	return all
}

// address parses an address, 0 if it is none.
func address(s string) uintptr {
	n, err := strconv.ParseUint(s, 16, strconv.IntSize)
	if err != nil {
		return 0
	}
	return uintptr(n)
}
