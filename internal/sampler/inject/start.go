//go:build heisen_inject

package runtime

import (
	linux "internal/runtime/syscall/linux"
	"unsafe"
)

// heisenSampler stops goroutines now and then before they access a variable. Whoever accesses the variable while one
// is stopped, one of the two writing, is in a data race with it. See package sampler, which has the argument.
//
// A thread without a P, the sampler's, arms places and ends holds (thread.go). The handler of SIGTRAP looks at
// what goroutines are about to access (trap.go). A goroutine that is held parks as if it was preempted (hold.go). A
// goroutine of the runtime writes the reports (report.go).
var heisenSampler heisenSamplerState

type heisenSamplerState struct {
	on       uint32 // 1: there is a thread that arms places
	table    heisenTable
	options  heisenSamplerOptions
	hold     heisenHold
	reports  heisenReports
	suspects heisenSuspects
	spent    int64  // processor time so far, in nanoseconds
	looked   int64  // when it has looked for a debugger
	traced   bool   // a debugger is attached
	wake     uint32 // a futex: something happened that the sampler's thread waits for
	chosen   uint32 // a goroutine that comes to an armed place may be held
	rng      uint64 // of the sampler's thread
	explored uint32 // how many places were armed to see whether they run
	cursor   uint32
	stride   uint32
	pages    []uint8 // bits: pages of the text that were written to
	numPages uint32

	// What happened, for tests and the counters of package field.
	hits, late, holds, catches, private uint64
}

// heisenTable has the places that may be armed, by address, and what is known about each.
type heisenTable struct {
	places  []heisenPlace
	states  []uint32 // of the places: heisenIdle and so on
	live    []uint32 // the first numLive are places that were executed, with variables that goroutines may share
	isLive  []uint8  // bits
	told    []uint8  // bits: places of races that were caught; only of the sampler's thread
	numLive int
	text    uintptr
	end     uintptr
}

// heisenPlace is an instruction that accesses a variable, as package accesstable writes it.
type heisenPlace struct {
	pc          uint32 // from the start of the text
	disp        int32
	first       uint8 // the first byte of the instruction
	base, index uint8 // registers, or heisenNoRegister, or heisenText
	scale       uint8
	size        uint8
	kind        uint8
	_           uint16
}

const (
	heisenNoRegister = 16
	heisenText       = 17 // the start of the text

	heisenReads  = 1
	heisenWrites = 2
)

// States of places.
const (
	heisenIdle     = iota
	heisenArmed    // a breakpoint is there, or about to be
	heisenRestored // whoever set this writes the instruction's own byte
)

const (
	heisenMaxPages = 3 << 10 // 12 MiB of text may become private memory
)

type heisenSamplerOptions struct {
	rate  int64 // holds a second, at most
	cpu   int64 // share of a processor, in thousandths of a percent
	delay int64 // nanoseconds of a hold
	seed  uint64
}

// heisenSamplerDefaults are set by the linker.
var heisenSamplerDefaults string

// heisenGCEnable is called in place of gcenable, before the first code of the program.
func heisenGCEnable() {
	gcenable()
	if !heisenSamplerRead() {
		return
	}
	heisenSampler.on = 1
	testSigtrap = heisenTrap
	go heisenReporter()
	systemstack(func() {
		newm(heisenSamplerThread, nil, -1)
	})
}

// heisenSamplerRead reads options and the table. It reports whether there is something to do.
func heisenSamplerRead() bool {
	s := &heisenSampler
	s.options = heisenSamplerOptions{rate: 20, cpu: 1000, delay: 500_000, seed: uint64(nanotime()) ^ uint64(getpid())<<32}
	for _, text := range [...]string{heisenSamplerDefaults, gogetenv("HEISEN_FIELD")} {
		if !s.options.read(text) {
			print("heisen: HEISEN_FIELD: ", text, ": options are rate=N, cpu=N (thousandths of a percent), delay=Nus, seed=N, and off\n")
			return false
		}
	}
	if s.options.rate == 0 {
		return false
	}
	if why := s.table.read(); why != "" {
		print("heisen: races are not looked for: ", why, "\n")
		return false
	}
	s.pages = heisenSamplerBytes((s.table.end-s.table.text)/physPageSize/8 + 2)
	s.rng = s.options.seed | 1
	n := uint32(len(s.table.places))
	s.cursor = uint32(s.random() % uint64(n))
	s.stride = n/2 + uint32(s.random()%uint64(n/2+1))
	for heisenGCD(s.stride, n) != 1 {
		s.stride++
	}
	if !s.canWrite() {
		print("heisen: races are not looked for: code cannot be changed through /proc/self/mem\n")
		return false
	}
	return true
}

func heisenGCD(a, b uint32) uint32 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// read reads options, "rate=20,delay=500us". It reports whether they are right.
func (o *heisenSamplerOptions) read(text string) bool {
	for text != "" {
		option := text
		text = ""
		for i := range len(option) {
			if option[i] == ',' {
				option, text = option[:i], option[i+1:]
				break
			}
		}
		name, value := option, ""
		for i := range len(option) {
			if option[i] == '=' {
				name, value = option[:i], option[i+1:]
				break
			}
		}
		n, unit, ok := heisenNumber(value)
		switch {
		case option == "off":
			o.rate = 0
		case option == "on":
		case name == "rate" && ok && unit == "" && n <= 10_000:
			o.rate = n
		case name == "cpu" && ok && unit == "" && n <= 100_000:
			o.cpu = n
		case name == "seed" && ok && unit == "":
			o.seed = uint64(n)
		case name == "delay" && ok && unit == "us" && n <= 100_000:
			o.delay = n * 1000
		case name == "delay" && ok && unit == "ms" && n <= 100:
			o.delay = n * 1_000_000
		default:
			return false
		}
	}
	return true
}

// heisenNumber returns the number that a text begins with, and the rest.
func heisenNumber(text string) (n int64, rest string, ok bool) {
	for len(text) > 0 && text[0] >= '0' && text[0] <= '9' && n < 1<<50 {
		n = n*10 + int64(text[0]-'0')
		text, ok = text[1:], true
	}
	return n, text, ok
}

// heisenSamplerBytes returns zeroed memory that is never freed.
func heisenSamplerBytes(n uintptr) []uint8 {
	p, err := mmap(nil, alignUp(n, physPageSize), _PROT_READ|_PROT_WRITE, _MAP_ANON|_MAP_PRIVATE, -1, 0)
	if err != 0 {
		throw("heisen: out of memory")
	}
	return unsafe.Slice((*uint8)(p), n)
}

// read maps the table at the end of the executable. It returns why that is not possible.
func (t *heisenTable) read() (why string) {
	const trailer = 32
	name := [...]byte{'/', 'p', 'r', 'o', 'c', '/', 's', 'e', 'l', 'f', '/', 'e', 'x', 'e', 0}
	fd := open(&name[0], _O_RDONLY|_O_CLOEXEC, 0)
	if fd < 0 {
		return "/proc/self/exe cannot be read"
	}
	defer closefd(fd)
	var end struct {
		magic          [8]byte
		version, count uint32
		offset, text   uint64
	}
	if unsafe.Sizeof(end) != trailer {
		return "the trailer has another size"
	}
	const lseek, fromEnd, back = 8, 2, ^uintptr(trailer - 1)
	if _, _, errno := linux.Syscall6(lseek, uintptr(fd), back, fromEnd, 0, 0, 0); errno != 0 {
		return "the executable is too short"
	}
	if read(fd, noescape(unsafe.Pointer(&end)), trailer) != trailer || string(end.magic[:]) != "heisenAT" {
		return "the executable has lost its table of accesses; it was changed after it was built"
	}
	m := &firstmoduledata
	t.text, t.end = m.text, m.etext
	size := uintptr(end.count) * unsafe.Sizeof(heisenPlace{})
	if end.version != 1 || end.count == 0 || end.offset%4096 != 0 || end.offset >= 1<<32 || uint64(m.etext-m.text) > end.text {
		return "the table of accesses is of another executable"
	}
	p, err := mmap(nil, alignUp(size, physPageSize), _PROT_READ, _MAP_PRIVATE, fd, uint32(end.offset))
	if err != 0 {
		return "the table of accesses cannot be mapped"
	}
	t.places = unsafe.Slice((*heisenPlace)(p), end.count)
	n := uintptr(end.count)
	words := heisenSamplerBytes(n*8 + 2*(n/8+1))
	t.states = unsafe.Slice((*uint32)(unsafe.Pointer(&words[0])), n)
	t.live = unsafe.Slice((*uint32)(unsafe.Pointer(&words[4*n])), n)
	t.isLive, t.told = words[8*n:8*n+n/8+1], words[8*n+n/8+1:]
	return ""
}

// find returns the place at an address of the text, or -1.
//
//go:nosplit
func (t *heisenTable) find(pc uintptr) int32 {
	if pc < t.text || pc >= t.end {
		return -1
	}
	at := uint32(pc - t.text)
	from, to := 0, len(t.places)
	for from < to {
		if mid := int(uint(from+to) / 2); t.places[mid].pc < at {
			from = mid + 1
		} else {
			to = mid
		}
	}
	if from < len(t.places) && t.places[from].pc == at {
		return int32(from)
	}
	return -1
}

// random returns a random number. Only the sampler's thread calls it.
func (s *heisenSamplerState) random() uint64 {
	s.rng ^= s.rng << 13
	s.rng ^= s.rng >> 7
	s.rng ^= s.rng << 17
	return s.rng
}
