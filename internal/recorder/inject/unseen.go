//go:build heisen_inject

package runtime

import (
	"internal/abi"
	"internal/stringslite"
	"unsafe"
)

// Synchronization that has no hooks: assembly of packages outside of the standard library. The compiler
// reports no calls of it, and what it does to memory neither. So it may order accesses without anybody
// seeing that. The linker keeps only functions that something refers to, so what is in the program may
// run. (C code is called through runtime.cgocall, which orders all calls with each other, as for -race.)

// heisenUnseen has the packages.
var heisenUnseen heisenUnseenPackages

type heisenUnseenPackages struct {
	searched bool
	count    uint32
	packages [heisenMaxUnseen]string
	why      [heisenMaxUnseen]uint32
}

// heisenMaxUnseen is the number of packages that are named.
const heisenMaxUnseen = 16

// heisenComputes has the start of the paths of packages whose assembly is known only to compute.
var heisenComputes = [...]string{"golang.org/x/crypto/", "golang.org/x/sys/cpu."}

// heisenLinked has the packages that call functions of the standard library past its API, by
// go:linkname, separated by commas. The linker sets it.
var heisenLinked string

// heisenFindUnseen looks for the packages. It runs during initialization.
func heisenFindUnseen() {
	u := &heisenUnseen
	if u.searched {
		return
	}
	u.searched = true
	m := &firstmoduledata
	for i := range len(m.ftab) - 1 { // the last one marks the end
		f := funcInfo{(*_func)(unsafe.Pointer(&m.pclntable[m.ftab[i].funcoff])), m}
		if f.flag&abi.FuncFlagAsm != 0 {
			heisenAddUnseen(funcname(f))
		}
	}
	for at, from := 0, 0; at <= len(heisenLinked); at++ {
		if at == len(heisenLinked) || heisenLinked[at] == ',' {
			if from < at {
				u.add(heisenLinked[from:at], heisenUnseenLinked)
			}
			from = at + 1
		}
	}
}

// heisenAddUnseen adds the package of an assembly function. Names without a package belong to the runtime
// and to what the linker adds; the program can only call others.
func heisenAddUnseen(name string) {
	end := stringslite.IndexByte(name, '.')
	for i := range len(name) {
		if name[i] == '/' {
			end = stringslite.IndexByte(name[i:], '.')
			if end >= 0 {
				end += i
			}
		}
	}
	if end <= 0 || heisenNameLayer(name) != heisenProgram {
		return
	}
	for _, path := range heisenComputes {
		if stringslite.HasPrefix(name, path) {
			return
		}
	}
	heisenUnseen.add(name[:end], heisenUnseenAssembly)
}

func (u *heisenUnseenPackages) add(pkg string, why uint32) {
	for i := range min(u.count, heisenMaxUnseen) {
		if u.packages[i] == pkg {
			return
		}
	}
	if u.count < heisenMaxUnseen {
		u.packages[u.count], u.why[u.count] = pkg, why
	}
	u.count++
}

// heisenSendUnseen sends the packages that are named.
func heisenSendUnseen() {
	u := &heisenUnseen
	for i := range min(u.count, heisenMaxUnseen) {
		var text [32]uint64
		n := copy((*[unsafe.Sizeof(text)]byte)(unsafe.Pointer(&text))[:], u.packages[i])
		heisenSend(heisenMsgUnseen, u.why[i], 0, unsafe.Pointer(&text), alignUp(uintptr(n), 8))
	}
}
