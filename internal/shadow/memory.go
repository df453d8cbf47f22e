// Package shadow is the memory of detectors: a state of type T for every
// variable of the observed program, exact to the byte and yet about one state
// per machine word.
//
// # Classes
//
// Accesses touch ranges of bytes, and two accesses meet if they share a byte.
// The bytes of an 8-byte word are therefore partitioned into classes, such that
// every access so far was a union of classes: the bytes of a class have the
// same history and share one state. The first access of a word makes one class
// of the bytes it touches; an access that cuts a class splits it, and both
// halves go on with a copy of the state. Bytes that were never touched are in no
// class. Real programs access a word nearly always in the same way, so that it
// has a single class, which the fast path finds by comparing one byte mask.
//
// # Layout and costs
//
// A page of 64 words is a structure of arrays, without pointers if T has none.
// Pages hang in chunks of 1 MiB of address space, and chunks in an open hash
// table with a cache of the last chunk. A touched word costs 5 + sizeof(T)
// bytes if its page is full, a page 64 times as much and a chunk 16 KiB; the
// further classes of a word cost 8 bytes and 1, 3 or 7 times sizeof(T). What
// Clear frees is used again, never given back.
package shadow

import (
	"math"
	"math/bits"

	"github.com/heisen-go/heisen"
)

const (
	wordShift  = 3
	pageShift  = 9
	chunkShift = 20

	wordBytes  = 1 << wordShift
	pageWords  = 1 << (pageShift - wordShift)
	pageBytes  = 1 << pageShift
	chunkPages = 1 << (chunkShift - pageShift)
)

// page holds the classes of 64 words. The first class of a word stands in the
// page itself, further ones in a group. The state of a word without a class is
// zero.
type page[T any] struct {
	mask  [pageWords]uint8 // bytes of the first class; 0 if the word has none
	more  [pageWords]ref   // group of the further classes
	words uint32           // words with a class
	state [pageWords]T
}

// chunk is the upper level of the table.
type chunk[T any] struct {
	number uint64 // address >> chunkShift
	used   int    // pages that are not nil
	pages  [chunkPages]*page[T]
}

// Memory maps bytes to states. The zero Memory is not ready for use; see New.
// A Memory belongs to one goroutine.
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
	words      int         // with a class
}

// New returns an empty memory. States start as the zero T.
//
// A state that refers to something outside itself needs the two functions,
// otherwise they are nil: clone is called with the second copy of a state when a
// class is split, to duplicate what it refers to; drop with a state that is
// about to be forgotten.
func New[T any](clone, drop func(*T)) *Memory[T] {
	return &Memory[T]{
		last:  &chunk[T]{number: math.MaxUint64},
		clone: clone,
		drop:  drop,
	}
}

// At returns the state of the byte o, as an access to this byte alone: if o was
// in a class with other bytes it is so no longer. The pointer is valid until the
// next call of any method. It costs a few nanoseconds where the word has been
// accessed like this before, and allocates only for memory never touched so far.
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

// at is At without a fast path.
func (m *Memory[T]) at(o heisen.Object) *T {
	s, _ := m.class(m.pageOf(uint64(o)), uint64(o)>>wordShift%pageWords, 1<<(o%wordBytes))
	return s
}

// Peek returns the state of the byte o, or nil if it has none. It changes
// nothing but the cache.
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

// peek is Peek without a fast path.
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

// Each calls visit with every state, in no order. visit may change the state, and
// must not use the Memory otherwise. It costs a step per word of every page.
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

// Range returns a cursor over the states of size bytes from o, as one access to
// all of them. A range that would leave the address space ends with it.
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

// Cursor visits the classes of a range of bytes, in order of their lowest byte
// within each word. The loop is
//
//	for c := m.Range(o, size); c.Next(); {
//		use(c.Object(), c.State())
//	}
//
// and the Memory must not be used otherwise until its end.
type Cursor[T any] struct {
	m     *Memory[T]
	page  *page[T]
	state *T
	next  uint64 // where the next word's part of the range starts
	end   uint64 // last byte of the range
	word  uint64 // address of the present word
	todo  uint8  // bytes of the present word still to be visited
	first uint8  // lowest byte of the present class
	done  bool   // next is past the end
}

// Next moves to the next class and reports whether there is one.
func (c *Cursor[T]) Next() bool {
	if c.todo == 0 {
		if c.nextWhole() {
			return true
		}
		if !c.nextWord() {
			return false
		}
	}
	var class uint8
	c.state, class = c.m.class(c.page, c.word>>wordShift%pageWords, c.todo)
	c.first = uint8(bits.TrailingZeros8(class))
	c.todo &^= class
	return true
}

// nextWhole moves to the next word if that is whole in the range, one class and
// on the same page, which is nearly always so in long ranges.
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

// State returns the state of the present class. The pointer is valid until
// Next.
func (c *Cursor[T]) State() *T { return c.state }

// Object returns the lowest byte of the present class.
func (c *Cursor[T]) Object() heisen.Object { return heisen.Object(c.word | uint64(c.first)) }

// wordMask returns the bytes of the word at address word that lie within first
// and last, both included; the two must enclose a byte of the word.
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

// class returns the class of word w of p that holds the lowest byte of mask,
// and the bytes of that class: all in mask, by splitting if need be. Where that
// byte has no class yet, a new one takes in all bytes of mask that have none.
func (m *Memory[T]) class(p *page[T], w uint64, mask uint8) (*T, uint8) {
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
			// The part that is accessed stays first: it will be accessed
			// like this again.
			m.split(p, w, rest, p.state[w])
			p.mask[w] = first & mask
		}
		return &p.state[w], first & mask
	}
	free := mask &^ first
	if r := p.more[w]; r != 0 {
		masks := m.extra.masks(r)
		if i, ok := masks.find(bits.TrailingZeros8(mask)); ok {
			class := masks.at(i)
			if rest := class &^ mask; rest != 0 {
				masks.set(i, class&mask)
				m.split(p, w, rest, m.extra.states(r)[i])
				r = p.more[w]
			}
			return &m.extra.states(r)[i], class & mask
		}
		free &^= masks.all()
	}
	return m.push(p, w, free), free
}

// split gives the bytes of mask, cut off from a class in the given state, a
// class of their own.
func (m *Memory[T]) split(p *page[T], w uint64, mask uint8, state T) {
	s := m.push(p, w, mask)
	*s = state
	if m.clone != nil {
		m.clone(s)
	}
}

// push adds a further class to word w.
func (m *Memory[T]) push(p *page[T], w uint64, mask uint8) (state *T) {
	p.more[w], state = m.extra.add(p.more[w], mask)
	return state
}

// pageOf returns the page that holds addr, making it if there is none.
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

// find returns the chunk with the given number and caches it, or returns nil.
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
