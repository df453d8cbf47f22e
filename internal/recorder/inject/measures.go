//go:build heisen_inject

package runtime

import "unsafe"

// What a deterministic run measures of the runtime: memory, collections, the number of goroutines. Hooks,
// switches between goroutines and heisen's own work change it. So the values are recorded, and another run
// can be given them, or the same ones again and again: if a program fails with its own values and not with
// others, in the same schedule, then it fails because of what it has measured.
//
// The functions run on goroutines, where the runtime is patched to call them.

// What is measured.
const (
	heisenMeasuresGoroutines = iota
	heisenMeasuresMemory
	heisenMeasuresMetrics
	heisenMeasuresPauses
	// Without values: the program asks for a collection, and for being told what it has freed.
	heisenMeasuresCollection
	heisenMeasuresFreed

	heisenMeasureKinds
)

const (
	heisenMeasureRoom  = 1 << 11 // words of values
	heisenMeasureShift = 56      // of the kind, in the first word of a measurement; the rest is the number of values behind it
)

type heisenMeasures struct {
	kinds  uint64  // bits of what was measured
	before uint64  // those of them from before a test failed
	failed bool    // a test has failed
	place  uint32  // the text offset of the first place in the program that did, or 0
	values uintptr // room for heisenMeasureRoom words
	count  int     // words in it

	given []uint64                // values for the program, in the same form
	next  [heisenMeasureKinds]int // where the next ones of a kind are looked for
	still bool                    // the first values of a kind are given again and again
	first [heisenMeasureKinds]int // their index in values, from 1
}

// init reads the values for the program. What it has measured before is not kept.
func (m *heisenMeasures) init(from *heisenMessage, still bool) {
	*m = heisenMeasures{kinds: m.kinds, place: m.place, values: m.values, still: still}
	if m.values == 0 {
		m.values = uintptr(persistentalloc(heisenMeasureRoom*8, 8, &memstats.other_sys))
	}
	n := uintptr(from.next())
	if n == 0 {
		return
	}
	m.given = unsafe.Slice((*uint64)(persistentalloc(n*8, 8, &memstats.other_sys)), n)
	for i := range m.given {
		m.given[i] = from.next64()
	}
}

func (m *heisenMeasures) word(i int) *uint64 {
	return (*uint64)(unsafe.Pointer(m.values + uintptr(i)*8))
}

// measured takes values that the program is about to get, and replaces them if it is to get others.
func (m *heisenMeasures) measured(kind int, values []uint64) {
	if m.values == 0 {
		return
	}
	head := uint64(kind)<<heisenMeasureShift | uint64(len(values))
	switch first := m.first[kind]; {
	case m.still && first > 0 && *m.word(first - 1) == head:
		for i := range values {
			values[i] = *m.word(first + i)
		}
		return
	case len(m.given) > 0:
		m.give(kind, head, values)
	}
	if m.count+1+len(values) > heisenMeasureRoom {
		return
	}
	if m.first[kind] == 0 {
		m.first[kind] = m.count + 1
	}
	*m.word(m.count) = head
	for i, v := range values {
		*m.word(m.count + 1 + i) = v
	}
	m.count += 1 + len(values)
}

// give replaces values by the next given ones of the kind, if there are as many.
func (m *heisenMeasures) give(kind int, head uint64, values []uint64) {
	for i := m.next[kind]; i < len(m.given); {
		n := int(m.given[i] & (1<<heisenMeasureShift - 1))
		at := i + 1
		i = at + n
		if m.given[at-1] == head && i <= len(m.given) {
			copy(values, m.given[at:i])
			m.next[kind] = i
			return
		}
	}
}

// send sends what was measured.
func (m *heisenMeasures) send() {
	if m.kinds == 0 {
		return
	}
	head := m.kinds | m.before<<8 | uint64(m.place)<<32
	if m.failed {
		head |= 1 << 16
	}
	if m.count == heisenMeasureRoom {
		m.count--
	}
	for i := m.count; i > 0; i-- {
		*m.word(i) = *m.word(i - 1)
	}
	*m.word(0) = head
	heisenTellName(m.place)
	heisenSend(heisenMsgMeasures, 0, 0, unsafe.Pointer(m.values), uintptr(m.count+1)*8)
}

// race_Fails is called when a test fails. It does not do so because of what is measured later.
//
//go:linkname race_Fails internal/race.Fails
func race_Fails() {
	if m := &heisenSched.measures; heisenSched.on && !m.failed {
		m.failed, m.before = true, m.kinds
	}
}

// heisenMeasuring notes that the current goroutine measures something. direct asks for a call by the
// program itself, and not by a library.
//
//go:nosplit
//go:noinline
func heisenMeasuring(kind int, direct bool) bool {
	gp := getg()
	if !heisenSched.on || gp != gp.m.curg || gp.racectx == 0 {
		return false
	}
	pc := heisenProgramCaller(gp, getcallerfp(), direct)
	if pc == 0 {
		return false
	}
	m := &heisenSched.measures
	m.kinds |= 1 << kind
	if m.place == 0 {
		m.place = uint32(heisenPC(pc))
	}
	return true
}

// heisenMeasuredGoroutines takes the number of goroutines, and returns the one that the program gets.
func heisenMeasuredGoroutines(n int32) int32 {
	if !heisenMeasuring(heisenMeasuresGoroutines, false) {
		return n
	}
	values := [1]uint64{uint64(n)}
	heisenSched.measures.measured(heisenMeasuresGoroutines, values[:])
	return int32(values[0])
}

// heisenMeasuredMemory takes what ReadMemStats has read.
func heisenMeasuredMemory(s *MemStats) {
	if !heisenMeasuring(heisenMeasuresMemory, false) {
		return
	}
	m := &heisenSched.measures
	// Up to the pauses, all fields are of 64 bits.
	m.measured(heisenMeasuresMemory, unsafe.Slice(&s.Alloc, (unsafe.Offsetof(s.PauseNs)-unsafe.Offsetof(s.Alloc))/8))
	cycles := [2]uint64{uint64(s.NumGC), uint64(s.NumForcedGC)}
	m.measured(heisenMeasuresPauses, cycles[:])
	s.NumGC, s.NumForcedGC = uint32(cycles[0]), uint32(cycles[1])
}

// heisenMeasuredMetrics takes what package runtime/metrics has read. Histograms remain as they are.
func heisenMeasuredMetrics(samples unsafe.Pointer, n int) {
	if !heisenMeasuring(heisenMeasuresMetrics, false) {
		return
	}
	for i := range unsafe.Slice((*metricSample)(samples), n) {
		v := &(*metricSample)(add(samples, uintptr(i)*unsafe.Sizeof(metricSample{}))).value
		if v.kind == metricKindUint64 || v.kind == metricKindFloat64 {
			heisenSched.measures.measured(heisenMeasuresMetrics, unsafe.Slice(&v.scalar, 1))
		}
	}
}

// heisenMeasuredPauses takes what package runtime/debug has read of collections. The number and the total
// time are the last two.
func heisenMeasuredPauses(pauses []uint64) {
	if len(pauses) < 2 || !heisenMeasuring(heisenMeasuresPauses, false) {
		return
	}
	heisenSched.measures.measured(heisenMeasuresPauses, pauses[len(pauses)-2:])
}
