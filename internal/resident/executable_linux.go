package resident

import (
	"bufio"
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
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if from, to, ok := readOnly(lines.Text(), path); ok {
			syscall.Syscall(syscall.SYS_MADVISE, from, to-from, syscall.MADV_DONTNEED)
		}
	}
}

// readOnly reads a line of /proc/self/maps, such as
//
//	00400000-00c3b000 r-xp 00000000 fe:01 1054 /usr/bin/heisen
//
// It returns the addresses if they map the file at path, and cannot be written to.
func readOnly(line, path string) (from, to uintptr, ok bool) {
	fields := strings.SplitN(line, " ", 6)
	if len(fields) < 6 || strings.TrimLeft(fields[5], " ") != path || !strings.HasPrefix(fields[1], "r-") {
		return 0, 0, false
	}
	low, high, _ := strings.Cut(fields[0], "-")
	first, err := strconv.ParseUint(low, 16, 64)
	if err != nil {
		return 0, 0, false
	}
	end, err := strconv.ParseUint(high, 16, 64)
	if err != nil || end <= first {
		return 0, 0, false
	}
	return uintptr(first), uintptr(end), true
}
