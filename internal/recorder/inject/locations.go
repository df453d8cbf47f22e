//go:build heisen_inject

package runtime

import (
	"internal/goarch"
	"internal/runtime/atomic"
	"internal/stringslite"
	"unsafe"
)

// This file finds operations at given lines of the program's source, and reads the receiver's
// initial messages. Messages are read before main starts. Hooks look lines up on their goroutine's
// stack, nosplit, in a cache, and switch to the system stack for a line that is not in it.

// heisenLocations is a list of source lines that the receiver has named, numbered from 1.
type heisenLocations struct {
	first uintptr // of count+1 heisenLocations; the first is not used
	count uint32
	met   uint32 // 1 if the program has reached one of them

	// known caches the locations of program counters, one word each: the text offset and the mode,
	// above the number of the location (0 is none) and the number of functions inlined there.
	known [1 << heisenKnownBits]uint64
}

const (
	heisenKnownBits   = 14
	heisenKnownShift  = 24
	heisenKnownFactor = 0x9E3779B97F4A7C15 // of the hash: the golden ratio
)

// heisenLocation is a line of the program's source, or the part of it that belongs to one function.
type heisenLocation struct {
	file     uintptr // its name, behind the name's length
	function uintptr // likewise; 0 for all functions
	line     uint32
	flags    uint32
}

// heisenMessage is a message that the receiver has sent at the start.
type heisenMessage struct{ at uintptr }

const heisenMaxMessage = 64 << 20 // bytes

// heisenReceive reads a message, which begins with its length. It is not freed.
func heisenReceive() (m heisenMessage, ok bool) {
	var size uint32
	if !heisenReadAll(heisen.from, noescape(unsafe.Pointer(&size)), 4) || size > heisenMaxMessage {
		return m, false
	}
	m.at = uintptr(sysAlloc(alignUp(uintptr(size)+1, physPageSize), &memstats.other_sys, "heisen message"))
	return m, m.at != 0 && heisenReadAll(heisen.from, unsafe.Pointer(m.at), uintptr(size))
}

func (m *heisenMessage) next() uint32 {
	v := *(*uint32)(unsafe.Pointer(m.at))
	m.at += 4
	return v
}

func (m *heisenMessage) next64() uint64 { return uint64(m.next()) | uint64(m.next())<<32 }

// read takes the locations from a message.
func (l *heisenLocations) read(m *heisenMessage) {
	l.count = m.next()
	l.first = uintptr(persistentalloc((uintptr(l.count)+1)*unsafe.Sizeof(heisenLocation{}), goarch.PtrSize, &memstats.other_sys))
	for i := uint32(1); i <= l.count; i++ {
		*l.at(i) = heisenLocation{file: uintptr(m.next()), function: uintptr(m.next()), line: m.next(), flags: m.next()}
	}
	count := m.next()
	names := (*[1 << 17]uintptr)(persistentalloc(uintptr(count+1)*8, 8, &memstats.other_sys))
	for i := range count {
		names[i] = m.at
		m.at += alignUp(uintptr(m.next()), 4)
	}
	for i := uint32(1); i <= l.count; i++ {
		at := l.at(i)
		at.file = names[at.file]
		if at.function == heisenNoFunction {
			at.function = 0
		} else {
			at.function = names[at.function]
		}
	}
}

//go:nosplit
func (l *heisenLocations) at(i uint32) *heisenLocation {
	return (*heisenLocation)(unsafe.Pointer(l.first + uintptr(i)*unsafe.Sizeof(heisenLocation{})))
}

// locate returns the number of an operation's location, 0 if it has none, and the number of calls
// inlined there.
//
//go:nosplit
func (l *heisenLocations) locate(pc uint64, mode uint32) (number, inlined uint32) {
	key := pc<<3 | uint64(mode)
	e := &l.known[key*heisenKnownFactor>>(64-heisenKnownBits)]
	v := atomic.Load64(e)
	if v>>heisenKnownShift != key || v == 0 {
		systemstack(func() { v = key<<heisenKnownShift | l.find(uintptr(pc), mode) })
		atomic.Store64(e, v)
	}
	return uint32(v>>8) & 0xffff, uint32(v & 0xff)
}

// find is locate without the cache.
func (l *heisenLocations) find(pc uintptr, mode uint32) (found uint64) {
	pc += firstmoduledata.text - 1
	f := findfunc(pc)
	if !f.valid() {
		return 0
	}
	u, uf := newInlineUnwinder(f, pc)
	for uf.valid() && heisenNameLayer(u.srcFunc(uf).name()) != heisenProgram {
		uf = u.next(uf) // a method of sync/atomic
	}
	if !uf.valid() {
		return 0
	}
	name, line := u.fileLine(uf)
	for i := uint32(1); i <= l.count; i++ {
		if at := l.at(i); int(at.line) == line && at.flags&mode != 0 && heisenNamesFile(at.file, name) && at.within(u.srcFunc(uf).name()) {
			found = uint64(i) << 8
			atomic.Store(&l.met, 1)
			break
		}
	}
	depth := uint64(0)
	for uf = u.next(uf); uf.valid(); uf = u.next(uf) {
		depth++
	}
	return found | min(depth, 0xff)
}

// within reports whether the location stands for operations of a function.
func (l *heisenLocation) within(function string) bool {
	if l.function == 0 {
		return true
	}
	length := uintptr(*(*uint32)(unsafe.Pointer(l.function)))
	at, end := l.function+4, l.function+4+length
	for i := 0; i < len(function); {
		next := heisenTypeArguments(function, i)
		part := function[i : i+1]
		if next > i {
			part, i = "[...]", next
		} else {
			i++
		}
		n := uintptr(len(part))
		if end-at < n || !memequal(unsafe.Pointer(at), unsafe.Pointer(unsafe.StringData(part)), n) {
			return false
		}
		at += n
	}
	return at == end
}

// heisenTypeArguments returns the index behind the type arguments that begin at index i of a function's name, or
// i if none do.
func heisenTypeArguments(name string, i int) int {
	depth := 0
	for j := i; j < len(name); j++ {
		switch name[j] {
		case '[':
			depth++
		case ']':
			depth--
		}
		if depth == 0 {
			if j > i {
				return j + 1
			}
			break
		}
	}
	return i
}

// heisenNamed reports whether a name, behind its length, is the given one.
func heisenNamed(name uintptr, given string) bool {
	return int(*(*uint32)(unsafe.Pointer(name))) == len(given) &&
		memequal(unsafe.Pointer(name+4), unsafe.Pointer(unsafe.StringData(given)), uintptr(len(given)))
}

// heisenNamesFile reports whether a name of a file, behind its length, is the given one, or ends with it if that is relative: see
// heisenFolder.absolute.
func heisenNamesFile(name uintptr, given string) bool {
	if heisenNamed(name, given) {
		return true
	}
	if given == "" || given[0] == '/' {
		return false
	}
	for stringslite.HasPrefix(given, "../") {
		given = given[len("../"):]
	}
	length, n := uintptr(*(*uint32)(unsafe.Pointer(name))), uintptr(len(given))
	if length <= n || *(*byte)(unsafe.Pointer(name + 4 + length - n - 1)) != '/' {
		return false
	}
	return memequal(unsafe.Pointer(name+4+length-n), unsafe.Pointer(unsafe.StringData(given)), n)
}

// heisenMode returns the mode of an access.
//
//go:nosplit
func heisenMode(write bool) uint32 {
	if write {
		return heisenLocationWrites
	}
	return heisenLocationReads
}
