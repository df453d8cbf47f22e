//go:build heisen_inject

package runtime

import "unsafe"

// heisenString returns the n bytes at an address as a string. unsafe.String could panic, which is not
// possible everywhere in the runtime. The conversion of the pointer is written out: without inlining, as in
// programs for debuggers, that by stringStructOf leads to a write barrier, which is not possible either.
func heisenString(at, n uintptr) (s string) {
	*(*stringStruct)(unsafe.Pointer(&s)) = stringStruct{unsafe.Pointer(at), int(n)}
	return s
}

// heisenText is a text that is written in one piece, in memory outside of the heap.
type heisenText struct {
	at   uintptr
	used uintptr
	cut  bool // there was no room for the end
}

const (
	heisenMaxText = 1 << 20
	heisenCutText = "\n(the rest of this report is left out)\n==================\n"
)

// reserve makes sure that there is memory. It reports whether there is.
func (t *heisenText) reserve() bool {
	if t.at == 0 {
		t.at = uintptr(heisenReserve(heisenMaxText))
	}
	return t.at != 0
}

func (t *heisenText) clear() { t.used, t.cut = 0, false }

// add appends a string.
func (t *heisenText) add(s string) {
	n := uintptr(len(s))
	if t.cut || t.used+n+uintptr(len(heisenCutText)) > heisenMaxText {
		t.cut = true
		return
	}
	memmove(unsafe.Pointer(t.at+t.used), unsafe.Pointer(unsafe.StringData(s)), n)
	t.used += n
}

// number appends a decimal number.
func (t *heisenText) number(n uint64) {
	var digits [20]byte
	i := len(digits)
	for {
		i--
		digits[i] = byte('0' + n%10)
		if n /= 10; n == 0 {
			break
		}
	}
	t.add(heisenString(uintptr(unsafe.Pointer(&digits))+uintptr(i), uintptr(len(digits)-i)))
}

// address appends a number in hexadecimal, as addresses are printed.
func (t *heisenText) address(n uint64) {
	t.add("0x")
	t.hex(n, 1)
}

// hex appends a hexadecimal number with at least so many digits.
func (t *heisenText) hex(n uint64, least int) {
	var digits [16]byte
	i := len(digits)
	for n != 0 || len(digits)-i < least {
		i--
		digits[i] = "0123456789abcdef"[n%16]
		n /= 16
	}
	t.add(heisenString(uintptr(unsafe.Pointer(&digits))+uintptr(i), uintptr(len(digits)-i)))
}

// since returns what was appended after a position.
func (t *heisenText) since(start uintptr) string {
	return heisenString(t.at+start, t.used-start)
}

// write writes the text to where reports go. The log file is not kept open, since programs close
// descriptors that they do not know.
func (t *heisenText) write() {
	if t.cut {
		t.cut = false
		memmove(unsafe.Pointer(t.at+t.used), unsafe.Pointer(unsafe.StringData(heisenCutText)), uintptr(len(heisenCutText)))
		t.used += uintptr(len(heisenCutText))
	}
	switch heisenOptions.logPath {
	case "":
		heisenWriteAll(2, t.at, t.used)
	case "stdout":
		heisenWriteAll(1, t.at, t.used)
	default:
		if fd := heisenOpenLog(); fd >= 0 {
			heisenWriteAll(uintptr(fd), t.at, t.used)
			heisenCloseFile(fd)
		} else {
			heisenWriteAll(2, t.at, t.used)
		}
	}
}

// heisenOpenLog opens the log file. If that fails for the first time, it prints a line.
func heisenOpenLog() int32 {
	var path [4096]byte
	name, fd := heisenText{at: uintptr(unsafe.Pointer(&path))}, int32(-1)
	if len(heisenOptions.logPath)+len(".18446744073709551615\x00") <= len(path) {
		name.add(heisenOptions.logPath)
		name.add(".")
		name.number(uint64(heisenGetpid()))
		fd = heisenOpenToAppend(&path[0], !heisenAlone.opened)
	}
	if fd < 0 && !heisenAlone.opened {
		print("heisen: GORACE: log_path: cannot open ", heisenOptions.logPath, ".", heisenGetpid(), "\n")
	}
	heisenAlone.opened = true
	return fd
}

// heisenWriteAll writes n bytes, as far as it can.
func heisenWriteAll(fd, p, n uintptr) {
	for tries := 0; n > 0; {
		k := write(fd, unsafe.Pointer(p), int32(min(n, 1<<30)))
		switch {
		case k > 0:
			p, n = p+uintptr(k), n-uintptr(k)
		case k == -heisenInterrupted:
		case k == -heisenBusy && tries < 1000:
			tries++
			usleep(1000)
		default:
			return
		}
	}
}
