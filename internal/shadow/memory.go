// Package shadow is the shadow memory of detectors: it maps every byte of the observed program to a
// state of type T, while it needs about one state for each machine word.
//
// # Cells and entries
//
// Each aligned 8-byte word of the program has a shadow cell. Accesses touch ranges of bytes, and
// two accesses overlap if they share a byte. The bytes of a word are therefore partitioned into the
// entries of its cell: the bytes of an entry have been accessed together by every access so far, so
// that they share one state. The first access to a word makes one entry of the bytes that it
// touches. An access that touches only a part of an entry splits it, and both parts continue with a
// copy of the state. Bytes that were never accessed have no entry. Programs nearly always access a
// word in the same way, so that its cell has one entry. The fast path finds it by comparing a mask
// of bytes.
//
// Alloc and Free end the allocation epoch of a range of memory. [Memory.Clear] then removes the
// entries of the range, so a state never outlives the allocation epoch of its bytes.
//
// # Layout and cost
//
// A page has the cells of 64 words as a structure of arrays, without pointers if T has none. A
// chunk has the pages of 64 KiB of address space. A hash table finds chunks, and the latest one is
// cached. In a full page a cell takes 5 + sizeof(T) bytes; a page takes 64 times as much, and a
// chunk 1 KiB. The further entries of a cell take 8 bytes and 1, 3 or 7 times sizeof(T). Memory
// that Clear frees is used again and never returned.
//
// # Concurrency
//
// A Memory belongs to one goroutine.
package shadow

import (
	"math"
	"math/bits"

	"github.com/heisen-go/heisen"
)

const (
	wordShift  = 3
	pageShift  = 9
	chunkShift = 16

	wordBytes  = 1 << wordShift
	pageWords  = 1 << (pageShift - wordShift)
	pageBytes  = 1 << pageShift
	chunkPages = 1 << (chunkShift - pageShift)
)

// page has the shadow cells of 64 words. The first entry of a cell is in the page itself, further
// ones are in a group. The state of a cell without an entry is zero.
type page[T any] struct {
	mask  [pageWords]uint8 // bytes of the first entry; 0 if there is none
	more  [pageWords]ref   // group of the further entries
	words uint32           // cells with an entry
	state [pageWords]T
}

// chunk has the pages of 64 KiB of address space.
type chunk[T any] struct {
	number uint64 // address >> chunkShift
	used   int    // pages that are not nil
	pages  [chunkPages]*page[T]
}

// Memory maps bytes to states. New makes one; the zero Memory is not ready to use.
type Memory[T any] struct {
	last   *chunk[T] // the chunk of the latest access, never nil
	chunks chunkTable[T]
	extra  groups[T]

	clone func(*T)
	drop  func(*T)

	freePages  []*page[T]
	freeChunks []*chunk[T]
	hit        []*chunk[T] // scratch of Clear
	pages      int         // in use
	words      int         // cells with an entry
}

// New returns an empty memory. States start as the zero T.
//
// The functions are for states that refer to something else, and otherwise nil. When an entry is
// split, clone is called with the second copy of its state, to copy what the state refers to. drop
// is called with a state that is about to be removed.
func New[T any](clone, drop func(*T)) *Memory[T] {
	return &Memory[T]{
		last:  &chunk[T]{number: math.MaxUint64},
		clone: clone,
		drop:  drop,
	}
}

// At returns the state of the byte o, like an access to this byte only: o then has an entry of its
// own. The pointer is valid until the next call of any method. At takes a few nanoseconds if the
// word was accessed like this before, and allocates only for memory that was never accessed.
func (m *Memory[T]) At(o heisen.Object) *T {
	if c := m.last; c.number == uint64(o)>>chunkShift {
		if p := c.pages[uint64(o)>>pageShift%chunkPages]; p != nil {
			w := uint64(o) >> wordShift % pageWords
			if p.mask[w] == 1<<(o%wordBytes) {
				return &p.state[w]
			}
		}
	}
	return m.at(o)
}

// at is At without the fast path.
func (m *Memory[T]) at(o heisen.Object) *T {
	s, _ := m.entry(m.pageOf(uint64(o)), uint64(o)>>wordShift%pageWords, 1<<(o%wordBytes))
	return s
}

// Peek returns the state of the byte o, or nil if it has none. It splits no entry.
func (m *Memory[T]) Peek(o heisen.Object) *T {
	if c := m.last; c.number == uint64(o)>>chunkShift {
		if p := c.pages[uint64(o)>>pageShift%chunkPages]; p != nil {
			w := uint64(o) >> wordShift % pageWords
			if p.mask[w] == 1<<(o%wordBytes) {
				return &p.state[w]
			}
		}
	}
	return m.peek(o)
}

// peek is Peek without the fast path.
func (m *Memory[T]) peek(o heisen.Object) *T {
	c := m.find(uint64(o) >> chunkShift)
	if c == nil {
		return nil
	}
	p := c.pages[uint64(o)>>pageShift%chunkPages]
	if p == nil {
		return nil
	}
	w := uint64(o) >> wordShift % pageWords
	bit := uint8(1) << (o % wordBytes)
	if p.mask[w]&bit != 0 {
		return &p.state[w]
	}
	if r := p.more[w]; r != 0 {
		if i, ok := m.extra.masks(r).find(int(o % wordBytes)); ok {
			return &m.extra.states(r)[i]
		}
	}
	return nil
}

// Each calls visit with every state, in no particular order. visit may change the state and must
// not use the Memory. Each takes a step for each word of every page.
func (m *Memory[T]) Each(visit func(*T)) {
	for i := range m.chunks.places {
		c := m.chunks.places[i].chunk
		if c == nil {
			continue
		}
		for _, p := range c.pages {
			if p != nil {
				m.eachOf(p, visit)
			}
		}
	}
}

func (m *Memory[T]) eachOf(p *page[T], visit func(*T)) {
	for w := range p.mask {
		if p.mask[w] == 0 {
			continue
		}
		visit(&p.state[w])
		if r := p.more[w]; r != 0 {
			states := m.extra.states(r)
			for i := range m.extra.masks(r).len() {
				visit(&states[i])
			}
		}
	}
}

// Range returns a cursor over the states of size bytes from o, like one access to all of them. A
// range that is too long ends with the address space.
func (m *Memory[T]) Range(o heisen.Object, size uint64) Cursor[T] {
	c := Cursor[T]{m: m, next: uint64(o), end: lastByte(o, size)}
	c.done = size == 0
	return c
}

// lastByte returns the address of the last of size bytes from o.
func lastByte(o heisen.Object, size uint64) uint64 {
	if size-1 > math.MaxUint64-uint64(o) {
		return math.MaxUint64
	}
	return uint64(o) + size - 1
}

// Cursor visits the entries of a range of bytes, word by word, and within a word in the order of
// their lowest bytes:
//
//	for c := m.Range(o, size); c.Next(); {
//		use(c.Object(), c.State())
//	}
//
// Until the end of the loop, the Memory must not be used otherwise.
type Cursor[T any] struct {
	m     *Memory[T]
	page  *page[T]
	state *T
	next  uint64 // start of the range's part in the next word
	end   uint64 // last byte of the range
	word  uint64 // address of the present word
	todo  uint8  // bytes of the present word that are not visited yet
	first uint8  // lowest byte of the present entry
	done  bool   // next is past the end
}

// Next moves to the next entry and reports whether there is one.
func (c *Cursor[T]) Next() bool {
	if c.todo == 0 {
		if c.nextWhole() {
			return true
		}
		if !c.nextWord() {
			return false
		}
	}
	var entry uint8
	c.state, entry = c.m.entry(c.page, c.word>>wordShift%pageWords, c.todo)
	c.first = uint8(bits.TrailingZeros8(entry))
	c.todo &^= entry
	return true
}

// nextWhole moves to the next word if the range contains all of it, its cell has a single entry and
// it is on the same page, as is the case for nearly all words of long ranges. Otherwise it returns
// false.
func (c *Cursor[T]) nextWhole() bool {
	if c.page == nil || c.done || c.next%pageBytes == 0 || c.next%wordBytes != 0 || c.end-c.next < wordBytes-1 {
		return false
	}
	w := c.next >> wordShift % pageWords
	if c.page.mask[w] != 0xff {
		return false
	}
	c.state = &c.page.state[w]
	c.word, c.first = c.next, 0
	c.done = c.end-c.next < wordBytes
	c.next += wordBytes
	return true
}

func (c *Cursor[T]) nextWord() bool {
	if c.done {
		return false
	}
	c.word = c.next &^ (wordBytes - 1)
	if c.page == nil || c.word%pageBytes == 0 {
		c.page = c.m.pageOf(c.word)
	}
	c.todo = wordMask(c.word, c.next, c.end)
	c.next = c.word + wordBytes
	c.done = c.end-c.word < wordBytes
	return true
}

// State returns the state of the present entry. The pointer is valid until Next.
func (c *Cursor[T]) State() *T { return c.state }

// Object returns the lowest byte of the present entry.
func (c *Cursor[T]) Object() heisen.Object { return heisen.Object(c.word | uint64(c.first)) }

// wordMask returns the bytes of the word at address word that are within first and last, both
// included. There must be at least one.
func wordMask(word, first, last uint64) uint8 {
	mask := uint8(0xff)
	if first > word {
		mask <<= first - word
	}
	if last-word < wordBytes-1 {
		mask &= 0xff >> (wordBytes - 1 - (last - word))
	}
	return mask
}

// entry returns the state and the bytes of the entry, in the cell of word w of p, that has the
// lowest byte of mask. It splits the entry unless all its bytes are in mask. If the byte has no
// entry, all bytes of mask without an entry get a new one.
func (m *Memory[T]) entry(p *page[T], w uint64, mask uint8) (*T, uint8) {
	first := p.mask[w]
	if first == mask {
		return &p.state[w], mask
	}
	if first == 0 {
		p.mask[w] = mask
		p.words++
		m.words++
		return &p.state[w], mask
	}
	lowest := mask & -mask
	if first&lowest != 0 {
		if rest := first &^ mask; rest != 0 {
			// The part that is accessed stays the first entry, because the next access is likely to
			// be the same.
			m.split(p, w, rest, p.state[w])
			p.mask[w] = first & mask
		}
		return &p.state[w], first & mask
	}
	free := mask &^ first
	if r := p.more[w]; r != 0 {
		masks := m.extra.masks(r)
		if i, ok := masks.find(bits.TrailingZeros8(mask)); ok {
			entry := masks.at(i)
			if rest := entry &^ mask; rest != 0 {
				masks.set(i, entry&mask)
				m.split(p, w, rest, m.extra.states(r)[i])
				r = p.more[w]
			}
			return &m.extra.states(r)[i], entry & mask
		}
		free &^= masks.all()
	}
	return m.push(p, w, free), free
}

// split makes a new entry of the bytes of mask, which were part of an entry with the given state.
func (m *Memory[T]) split(p *page[T], w uint64, mask uint8, state T) {
	s := m.push(p, w, mask)
	*s = state
	if m.clone != nil {
		m.clone(s)
	}
}

// push adds a further entry to the cell of word w.
func (m *Memory[T]) push(p *page[T], w uint64, mask uint8) (state *T) {
	p.more[w], state = m.extra.add(p.more[w], mask)
	return state
}

// pageOf returns the page of an address, a new one if there is none.
func (m *Memory[T]) pageOf(addr uint64) *page[T] {
	c := m.find(addr >> chunkShift)
	if c == nil {
		c = m.addChunk(addr >> chunkShift)
	}
	i := addr >> pageShift % chunkPages
	if c.pages[i] == nil {
		c.pages[i] = m.newPage()
		c.used++
	}
	return c.pages[i]
}

// find returns the chunk with the given number, and caches it, or nil.
func (m *Memory[T]) find(number uint64) *chunk[T] {
	if m.last.number == number {
		return m.last
	}
	c := m.chunks.find(number)
	if c != nil {
		m.last = c
	}
	return c
}

func (m *Memory[T]) addChunk(number uint64) *chunk[T] {
	var c *chunk[T]
	if n := len(m.freeChunks); n > 0 {
		c = m.freeChunks[n-1]
		m.freeChunks = m.freeChunks[:n-1]
	} else {
		c = new(chunk[T])
	}
	c.number = number
	m.chunks.insert(c)
	m.last = c
	return c
}

func (m *Memory[T]) newPage() *page[T] {
	m.pages++
	if n := len(m.freePages); n > 0 {
		p := m.freePages[n-1]
		m.freePages = m.freePages[:n-1]
		return p
	}
	return new(page[T])
}
