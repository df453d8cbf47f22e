//go:build heisen_inject

package runtime

import (
	"internal/runtime/pprof/label"
	"unsafe"
)

// The labels of goroutines (package runtime/pprof). A report says which labels a goroutine had at an access, or has
// where it waits, as tracebacks of the runtime do.
//
// A set of labels has a number, which belongs to the text of the set. The table has the latest texts. Those of the
// current goroutine, and of one that waits while no goroutine runs, are read where they are needed. An earlier access
// of a race may be that of a goroutine that runs, or has ended. So a goroutine notes its latest changes of labels, each
// with its epoch. Changing labels is a release, which ends the epoch in which the goroutine has made accesses.
//
// What a finding says of its accesses are places. A place with labels is a node of the kind heisenNodeLabels: the
// parent is the place, and the number of the set stands instead of a pc.
//
// The functions that are not nosplit run on the system stack. Those of heisenLabels need its lock.

const (
	heisenMaxLabelSets   = 1 << 12 // whose texts are kept
	heisenMaxLabelText   = 1 << 10 // bytes of a text
	heisenLabelled       = 1 << 13 // goroutines whose changes are kept
	heisenKeptLabels     = 16      // changes of each of them
	heisenAllEpochs      = 0       // when a change was that precedes all accesses of its goroutine
	heisenLabelsCutShort = "..."   // the end of a key or value for which there is no room
)

// heisenLabelText is a set of labels in words: each key and each value follows its length, of two bytes.
type heisenLabelText struct {
	number uint32
	sent   bool
	size   uint64 // this and the bytes are sent
	bytes  [heisenMaxLabelText]byte
}

// heisenLabelChange says which labels a goroutine has had from an epoch on.
type heisenLabelChange struct {
	since  uint64 // an epoch, or heisenAllEpochs
	set    uint32
	within bool // there may have been accesses in this epoch before
}

// heisenLabelledG has the latest changes of a goroutine.
type heisenLabelledG struct {
	id      uint32
	count   uint32 // of all changes; 0 if this belongs to no goroutine
	changes [heisenKeptLabels]heisenLabelChange
}

type heisenLabelTable struct {
	lock  uint32
	count uint32  // sets that have got numbers, from 1
	texts uintptr // of heisenLabelText, by number; 0 until there are labels
	gs    uintptr // of heisenLabelledG, by the goroutine's number
	// byHash has numbers of sets by a hash of their text. One with the same hash replaces another, which may get
	// a second number.
	byHash [2 * heisenMaxLabelSets]uint32
	next   heisenLabelText // scratch
}

var heisenLabels heisenLabelTable

// heisenSetsLabels is called when the current goroutine has changed its labels.
func heisenSetsLabels(labels unsafe.Pointer) {
	h := (*heisenG)(unsafe.Pointer(getg().racectx))
	if !heisen.on || h == nil {
		return
	}
	systemstack(func() {
		t := &heisenLabels
		heisenLock(&t.lock)
		if set := t.number(labels); set != h.labels {
			h.labels = set
			since, within := uint64(heisenAllEpochs), false
			if heisen.races && h.order.Epoch != 0 {
				since = h.order.Epoch
				within = h.order.lastAccess == since>>heisenFastTrackPlaceBits
			}
			t.note(h.id, heisenLabelChange{since, set, within})
		}
		heisenUnlock(&t.lock)
	})
}

// heisenInheritLabels notes that child begins with the labels of its parent.
//
//go:nosplit
func heisenInheritLabels(parent, child *heisenG) {
	if parent.labels == 0 {
		return
	}
	child.labels = parent.labels
	systemstack(func() {
		heisenLock(&heisenLabels.lock)
		heisenLabels.note(child.id, heisenLabelChange{heisenAllEpochs, child.labels, false})
		heisenUnlock(&heisenLabels.lock)
	})
}

// number returns the number of a set of labels, as in a goroutine that keeps them alive. It is 0 for the empty set,
// and if there is no memory.
func (t *heisenLabelTable) number(labels unsafe.Pointer) uint32 {
	if labels == nil || !t.reserve() {
		return 0
	}
	t.next.size = 0
	for _, l := range (*label.Set)(labels).List {
		if !t.next.add(l.Key) || !t.next.add(l.Value) {
			break
		}
	}
	if t.next.size == 0 {
		return 0
	}
	hash := uint64(0)
	for i := range t.next.size {
		hash = (hash ^ uint64(t.next.bytes[i%heisenMaxLabelText])) * 0x100000001b3
	}
	at := &t.byHash[heisenHash(hash)%uint64(len(t.byHash))]
	if known := t.find(*at); known != nil && known.text() == t.next.text() {
		return *at
	}
	t.count++
	t.next.number, t.next.sent = t.count, false
	*t.slot(t.count) = t.next
	*at = t.count
	return t.count
}

// reserve makes sure that there is memory.
func (t *heisenLabelTable) reserve() bool {
	if t.texts == 0 {
		t.gs = uintptr(heisenReserve(heisenLabelled * unsafe.Sizeof(heisenLabelledG{})))
		if t.gs != 0 {
			t.texts = uintptr(heisenReserve(heisenMaxLabelSets * unsafe.Sizeof(heisenLabelText{})))
		}
	}
	return t.texts != 0
}

// add appends a key or a value. It reports whether there was room for all of it, and for its label's value.
func (x *heisenLabelText) add(s string) bool {
	const least = 2 + uint64(len(heisenLabelsCutShort)) // of a string
	room := heisenMaxLabelText - x.size
	if room < 2*least {
		return false
	}
	n := min(uint64(len(s)), room-2-least)
	to := x.bytes[x.size+2:]
	copy(to[:n], s)
	if n < uint64(len(s)) {
		copy(to[n-uint64(len(heisenLabelsCutShort)):n], heisenLabelsCutShort)
	}
	x.bytes[x.size], x.bytes[x.size+1] = byte(n), byte(n>>8)
	x.size += 2 + n
	return true
}

func (x *heisenLabelText) text() string {
	return heisenString(uintptr(unsafe.Pointer(&x.bytes)), uintptr(x.size))
}

// slot returns the memory for the text of a set.
func (t *heisenLabelTable) slot(number uint32) *heisenLabelText {
	return (*heisenLabelText)(unsafe.Pointer(t.texts + uintptr(number%heisenMaxLabelSets)*unsafe.Sizeof(heisenLabelText{})))
}

// find returns the text of a set, nil if it is not kept any more.
func (t *heisenLabelTable) find(number uint32) *heisenLabelText {
	if number == 0 || t.texts == 0 {
		return nil
	}
	if x := t.slot(number); x.number == number {
		return x
	}
	return nil
}

func (t *heisenLabelTable) of(id uint32) *heisenLabelledG {
	return (*heisenLabelledG)(unsafe.Pointer(t.gs + uintptr(id%heisenLabelled)*unsafe.Sizeof(heisenLabelledG{})))
}

// note adds a change of a goroutine.
func (t *heisenLabelTable) note(id uint32, c heisenLabelChange) {
	if !t.reserve() {
		return
	}
	g := t.of(id)
	if g.id != id {
		g.id, g.count = id, 0
	}
	g.changes[g.count%heisenKeptLabels] = c
	g.count++
}

// at returns the labels of goroutine id at an access, of which the epoch is given: 0 if it had none or they are not known.
func (t *heisenLabelTable) at(id uint32, epoch uint64) uint32 {
	if t.texts == 0 || t.of(id).id != id {
		return 0
	}
	const slot = 1<<heisenFastTrackTimeBits - 1 // all bits above are the slot's
	g := t.of(id)
	epoch >>= heisenFastTrackPlaceBits
	for i := uint32(1); i <= min(g.count, heisenKeptLabels); i++ {
		c := &g.changes[(g.count-i)%heisenKeptLabels]
		since := c.since >> heisenFastTrackPlaceBits
		switch {
		case c.since == heisenAllEpochs:
			return c.set
		case (since^epoch)&^slot != 0 || since == epoch && c.within:
			return 0
		case since <= epoch:
			return c.set
		}
	}
	return 0
}

// latest returns the labels that goroutine id has got last, 0 if that is not known.
func (t *heisenLabelTable) latest(id uint32) uint32 {
	if t.texts == 0 || t.of(id).id != id || t.of(id).count == 0 {
		return 0
	}
	g := t.of(id)
	return g.changes[(g.count-1)%heisenKeptLabels].set
}

// heisenLabelsOf returns the labels of gp, which is the current goroutine, or waits while none runs.
func heisenLabelsOf(gp *g) (set uint32) {
	t := &heisenLabels
	if gp == nil || gp.labels == nil || !heisenTryLock(&t.lock, heisenAbortPatience) {
		return 0
	}
	set = t.number(gp.labels)
	heisenUnlock(&t.lock)
	return set
}

// heisenLabelsAt returns the labels of goroutine id at an access with an entry.
func heisenLabelsAt(id uint32, entry uint64) (set uint32) {
	t := &heisenLabels
	if t.texts == 0 || !heisenTryLock(&t.lock, heisenAbortPatience) {
		return 0
	}
	set = t.at(id, entry)
	heisenUnlock(&t.lock)
	return set
}

// heisenLatestLabels returns the labels of goroutine id, which is at an access.
func heisenLatestLabels(id uint32) (set uint32) {
	t := &heisenLabels
	if t.texts == 0 || !heisenTryLock(&t.lock, heisenAbortPatience) {
		return 0
	}
	set = t.latest(id)
	heisenUnlock(&t.lock)
	return set
}

// heisenNameLabels returns a place with a set of labels. The receiver knows the set then.
func heisenNameLabels(b *heisenBuf, place uint64, set uint32) uint64 {
	if set == 0 || !heisenSendLabels(set) {
		return place
	}
	at, locks := heisenPlaceParts(uint32(place))
	named := b.place(heisenNodeLabels|at, set)
	if named != 0 && locks != 0 {
		named = b.place(heisenNodeAccess|named, locks)
	}
	if named == 0 {
		return place
	}
	return uint64(named)
}

// heisenNameLatestLabels returns the description of an access whose goroutine is still there, with its labels.
func heisenNameLatestLabels(b *heisenBuf, accessID uint64) uint64 {
	if b == nil {
		return accessID
	}
	place := accessID & (heisenMaxPlaces - 1)
	return accessID&^(heisenMaxPlaces-1) | heisenNameLabels(b, place, heisenLatestLabels(uint32(accessID>>32)))
}

// heisenPlaceParts takes the place of an access apart: the place itself, without labels, and the set of locks.
func heisenPlaceParts(place uint32) (at, locks uint32) {
	at = place
	if node := *heisenNode(at); uint32(node>>32)&^(heisenMaxPlaces-1) == heisenNodeAccess {
		at, locks = uint32(node>>32)%heisenMaxPlaces, uint32(node)
	}
	if node := *heisenNode(at); uint32(node>>32)&^(heisenMaxPlaces-1) == heisenNodeLabels {
		at = uint32(node>>32) % heisenMaxPlaces
	}
	return at, locks
}

// heisenLabelsIn returns the labels in the place of an access.
func heisenLabelsIn(place uint32) (set uint32) {
	node := *heisenNode(place)
	if uint32(node>>32)&^(heisenMaxPlaces-1) == heisenNodeAccess {
		node = *heisenNode(uint32(node>>32) % heisenMaxPlaces)
	}
	if uint32(node>>32)&^(heisenMaxPlaces-1) != heisenNodeLabels {
		return 0
	}
	return uint32(node)
}

// heisenSendLabels makes a set known to the receiver, if there is one. It reports whether the set is known.
func heisenSendLabels(set uint32) (known bool) {
	t := &heisenLabels
	if !heisenTryLock(&t.lock, heisenAbortPatience) {
		return false
	}
	x := t.find(set)
	if x != nil && !x.sent && heisen.open {
		x.sent = true
		clear(x.bytes[x.size:])
		heisenSend(heisenMsgLabels, set, 0, unsafe.Pointer(&x.size), 8+alignUp(uintptr(x.size), 8))
	}
	heisenUnlock(&t.lock)
	return x != nil
}

// labels appends a set of labels, as the runtime does in tracebacks, with a space before.
func (t *heisenText) labels(set uint32) {
	x := heisenLabels.find(set)
	if x == nil {
		return
	}
	separator := " {"
	for text := x.text(); len(text) > 0; separator = ", " {
		t.add(separator)
		text = t.labelPart(text)
		t.add(": ")
		text = t.labelPart(text)
	}
	t.add("}")
}

// labelPart appends the first key or value of a text, and returns the rest.
func (t *heisenText) labelPart(text string) (rest string) {
	if len(text) < 2 {
		return ""
	}
	n := min(int(text[0])|int(text[1])<<8, len(text)-2)
	t.quoted(text[2 : 2+n])
	return text[2+n:]
}

// quoted appends a string, between quotes if it has other characters than the simplest.
func (t *heisenText) quoted(s string) {
	simple := true
	for i := range len(s) {
		c := s[i]
		simple = simple && ('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '/' || c == '_')
	}
	if simple {
		t.add(s)
		return
	}
	t.add("\"")
	for i, r := range s {
		switch {
		case r == '"' || r == '\\':
			t.add("\\")
			t.add(s[i : i+1])
		case r == '\n':
			t.add("\\n")
		case r == '\r':
			t.add("\\r")
		case r == '\t':
			t.add("\\t")
		case r >= ' ' && r <= '~':
			t.add(s[i : i+1])
		case r < ' ':
			t.add("\\x")
			t.hex(uint64(r), 2)
		case r < 1<<16:
			t.add("\\u")
			t.hex(uint64(r), 4)
		default:
			t.add("\\U")
			t.hex(uint64(r), 8)
		}
	}
	t.add("\"")
}
