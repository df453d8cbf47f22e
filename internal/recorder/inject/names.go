//go:build heisen_inject

package runtime

import "unsafe"

// The names of places. An analyzer asks a process of the same executable what a program counter is (symbolize.go). Where it
// cannot find the executable of a process, the program tells the functions itself, once for each program counter and before
// what has it.

// heisenNames says what is told. heisen.sendLock guards it.
var heisenNames struct {
	wanted bool
	told   heisenNumbers
}

// heisenTellName tells the functions at a return address, a text offset. It must run on the system stack.
func heisenTellName(pc uint32) {
	if !heisenNames.wanted || pc == 0 {
		return
	}
	heisenLock(&heisen.sendLock)
	ok := heisenSendName(pc)
	heisenUnlock(&heisen.sendLock)
	heisenSent(ok)
}

// heisenSendNodeNames tells the functions at the program counters of nodes (places.go). The caller holds heisen.sendLock.
func heisenSendNodeNames(first, n uint32) bool {
	if !heisenNames.wanted {
		return true
	}
	for i := first; i < first+n; i++ {
		node := *heisenNode(i)
		pc := uint32(node)
		switch uint32(node>>32) &^ (heisenMaxPlaces - 1) {
		case 0:
			if pc&heisenTaskPlace != 0 {
				continue
			}
		case heisenNodeTaken, heisenNodeSite:
			pc &^= heisenNodeShared
		default:
			continue
		}
		if !heisenSendName(pc) {
			return false
		}
	}
	return true
}

// heisenSendName sends the functions at a text offset, unless it has done so before. The caller holds heisen.sendLock. If
// there is no memory to remember that, it sends nothing.
func heisenSendName(pc uint32) bool {
	if pc == 0 || !heisenNames.told.add(uint64(pc)) {
		return true
	}
	count, size := uint32(0), uint32(4)
	heisenFrames(pc, func(f heisenNamedFrame) {
		if more := f.size(); count < heisenMaxNamed && size+more <= heisenBufWords*8 {
			count++
			size += more
		}
	})
	padded := uint32(alignUp(uintptr(size), 8))
	header := [5]uint32{heisenMsgNames, pc, padded, 0, count}
	ok, left := heisenSendAll(unsafe.Pointer(&header), unsafe.Sizeof(header)), count
	heisenFrames(pc, func(f heisenNamedFrame) {
		if left > 0 {
			left--
			ok = ok && f.send()
		}
	})
	var zeros uint64
	return ok && heisenSendAll(unsafe.Pointer(&zeros), uintptr(padded-size))
}

// heisenMaxNamed bounds the functions at a place, as a symbolizer does.
const heisenMaxNamed = 255

// nameSize returns the length of the name as it is printed.
func (f *heisenNamedFrame) nameSize() (size uint32) {
	heisenNameParts(f.name, func(part string) { size += uint32(len(part)) })
	return size
}

// size returns the size of what send sends.
func (f *heisenNamedFrame) size() uint32 {
	return 4*uint32(unsafe.Sizeof(f.line)) + f.nameSize() + uint32(len(f.file))
}

// send sends a function as a symbolizer does, and reports whether it could.
func (f *heisenNamedFrame) send() bool {
	head := [3]uint32{uint32(f.line), uint32(f.start), f.nameSize()}
	ok := heisenSendAll(unsafe.Pointer(&head), unsafe.Sizeof(head))
	heisenNameParts(f.name, func(part string) { ok = ok && heisenSendString(part) })
	size := uint32(len(f.file))
	return ok && heisenSendAll(unsafe.Pointer(&size), unsafe.Sizeof(size)) && heisenSendString(f.file)
}

// heisenNameParts calls each with the parts of a function's name as it is printed, with "[...]" for type arguments.
func heisenNameParts(name string, each func(part string)) {
	start := 0
	for i := 0; i < len(name); {
		next := heisenTypeArguments(name, i)
		if next == i {
			i++
			continue
		}
		each(name[start:i])
		each("[...]")
		i, start = next, next
	}
	each(name[start:])
}

func heisenSendString(s string) bool {
	return heisenSendAll(unsafe.Pointer(unsafe.StringData(s)), uintptr(len(s)))
}
