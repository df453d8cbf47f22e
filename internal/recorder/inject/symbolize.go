//go:build heisen_inject

package runtime

import (
	"internal/abi"
	"unsafe"
)

// An instrumented program also serves as its own symboliser: started with this
// variable set, it answers on standard output what the program counters on
// standard input stand for, and never reaches main. The runtime knows inlined
// calls, and it knows them whether or not the linker kept debug information.
//
// A request is a count and as many text offsets, all 32-bit. The answer to each
// is a count of frames, innermost first, each a line, the line on which the
// function begins, and the lengths and bytes of the function's and the file's
// name, again with 32-bit numbers.
const heisenSymbolizeEnv = "HEISEN_SYMBOLIZE"

func heisenSymbolize() {
	for {
		offsets := make([]uint32, 1)
		if !heisenReadAll(0, unsafe.Pointer(&offsets[0]), 4) || offsets[0] > 1<<20 {
			return
		}
		if offsets = make([]uint32, offsets[0]); len(offsets) > 0 &&
			!heisenReadAll(0, unsafe.Pointer(&offsets[0]), 4*uintptr(len(offsets))) {
			return
		}
		var out []byte
		for _, off := range offsets {
			out = heisenAppendFrames(out, firstmoduledata.text+uintptr(off))
		}
		for len(out) > 0 {
			n := write(1, unsafe.Pointer(&out[0]), int32(min(len(out), 1<<20)))
			if n > 0 {
				out = out[n:]
			} else if n != -_EINTR {
				return
			}
		}
	}
}

// heisenAppendFrames appends the answer for a return address.
func heisenAppendFrames(out []byte, pc uintptr) []byte {
	count := len(out)
	out = heisenAppend32(out, 0)
	f := findfunc(pc - 1)
	if !f.valid() {
		return out
	}
	u, uf := newInlineUnwinder(f, pc-1)
	for ; uf.valid() && out[count] < 255; uf = u.next(uf) {
		fn := u.srcFunc(uf)
		if fn.funcID == abi.FuncIDWrapper && u.isInlined(uf) {
			continue // made by the compiler, no code of anyone's
		}
		file, line := u.fileLine(uf)
		out[count]++
		out = heisenAppend32(out, uint32(line))
		out = heisenAppend32(out, uint32(fn.startLine))
		for _, s := range [...]string{funcNameForPrint(fn.name()), file} {
			out = heisenAppend32(out, uint32(len(s)))
			out = append(out, s...)
		}
	}
	return out
}

func heisenAppend32(out []byte, v uint32) []byte {
	return append(out, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
}

// heisenReadAll reads so many bytes, and reports whether there were.
func heisenReadAll(fd int32, p unsafe.Pointer, n uintptr) bool {
	for n > 0 {
		k := read(fd, p, int32(n))
		if k == -_EINTR {
			continue
		}
		if k <= 0 {
			return false
		}
		p, n = add(p, uintptr(k)), n-uintptr(k)
	}
	return true
}
