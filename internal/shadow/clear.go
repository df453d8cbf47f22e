package shadow

import (
	"math"
	"unsafe"

	"github.com/heisen-go/heisen"
)

// Clear removes the states of size bytes from o. An entry that is only partly in the range keeps
// its other bytes. Clear takes a step for each existing chunk or for each 64 KiB of the range,
// whichever are fewer, and a step for each word in the pages that the range has.
func (m *Memory[T]) Clear(o heisen.Object, size uint64) {
	if size == 0 {
		return
	}
	first, last := uint64(o), lastByte(o, size)
	from, to := first>>chunkShift, last>>chunkShift
	if to-from < uint64(m.chunks.count) {
		for n := from; n <= to; n++ {
			if c := m.find(n); c != nil {
				m.clearChunk(c, first, last)
			}
		}
		return
	}
	// clearChunk moves entries of the table, so the chunks are collected first.
	m.hit = m.hit[:0]
	for _, p := range m.chunks.places {
		if p.chunk != nil && from <= p.number && p.number <= to {
			m.hit = append(m.hit, p.chunk)
		}
	}
	for _, c := range m.hit {
		m.clearChunk(c, first, last)
	}
}

// clearChunk removes the states of the bytes of c within first and last.
func (m *Memory[T]) clearChunk(c *chunk[T], first, last uint64) {
	base := c.number << chunkShift
	from, to := uint64(0), uint64(chunkPages-1)
	if first > base {
		from = (first - base) >> pageShift
	}
	if last-base < 1<<chunkShift {
		to = (last - base) >> pageShift
	}
	for i := from; i <= to; i++ {
		p := c.pages[i]
		if p == nil {
			continue
		}
		m.clearPage(p, base+i<<pageShift, first, last)
		if p.words == 0 {
			c.pages[i] = nil
			c.used--
			m.pages--
			m.freePages = append(m.freePages, p)
		}
	}
	if c.used == 0 {
		m.chunks.remove(c.number)
		c.number = math.MaxUint64 // also where m.last caches it
		m.freeChunks = append(m.freeChunks, c)
	}
}

// clearPage removes the states of the bytes of p within first and last. p starts at base.
func (m *Memory[T]) clearPage(p *page[T], base, first, last uint64) {
	from, to := uint64(0), uint64(pageWords-1)
	if first > base {
		from = (first - base) >> wordShift
	}
	if last-base < pageBytes {
		to = (last - base) >> wordShift
	}
	for w := from; w <= to; w++ {
		if p.mask[w] != 0 {
			m.clearWord(p, w, wordMask(base+w<<wordShift, first, last))
		}
	}
}

// clearWord removes the states of the bytes of mask in word w, whose cell has an entry.
func (m *Memory[T]) clearWord(p *page[T], w uint64, mask uint8) {
	if r := p.more[w]; r != 0 {
		for i := m.extra.masks(r).len() - 1; i >= 0; i-- {
			masks := m.extra.masks(r)
			if left := masks.at(i) &^ mask; left != 0 {
				masks.set(i, left)
				continue
			}
			if m.drop != nil {
				m.drop(&m.extra.states(r)[i])
			}
			p.more[w] = m.extra.remove(r, i)
		}
	}
	if p.mask[w] &^= mask; p.mask[w] != 0 {
		return
	}
	if m.drop != nil {
		m.drop(&p.state[w])
	}
	r := p.more[w]
	if r == 0 {
		clear(p.state[w : w+1])
		p.words--
		m.words--
		return
	}
	last := m.extra.masks(r).len() - 1
	p.mask[w], p.state[w] = m.extra.masks(r).at(last), m.extra.states(r)[last]
	p.more[w] = m.extra.remove(r, last)
}

// Stats is the size of a Memory.
type Stats struct {
	Words   int    // words whose shadow cell has an entry
	Entries int    // entries of all cells, each with a state
	Pages   int    // pages in use
	Bytes   uint64 // memory allocated, including free pages
}

// Stats returns the size of m. It takes a few nanoseconds.
func (m *Memory[T]) Stats() Stats {
	return Stats{
		Words:   m.words,
		Entries: m.words + m.extra.entries,
		Pages:   m.pages,
		Bytes: uint64(m.pages+len(m.freePages))*uint64(unsafe.Sizeof(page[T]{})) +
			uint64(m.chunks.count+len(m.freeChunks))*uint64(unsafe.Sizeof(chunk[T]{})) +
			uint64(len(m.chunks.places))*uint64(unsafe.Sizeof(place[T]{})) +
			m.extra.bytes(),
	}
}
