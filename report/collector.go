package report

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/heisen-go/heisen"
)

// Item is a finding and how often it was found.
type Item struct {
	Finding     heisen.Finding // as first found
	Fingerprint string
	Count       uint64
	// Reverse tells apart the two orders in which the accesses of a race can
	// come: it is set if the place of the last one, as text, is less than that
	// of the first one.
	Reverse bool
}

// Collector folds findings of the same detector with the same fingerprint into
// one Item, but races of the same places in different orders into two: which
// access came later is part of what a detector says, and Finding.Reverse keeps
// it. Its Add is a heisen.Sink. It keeps the first finding of each and a few
// bytes for each set of program locations; repeating a finding costs one map
// lookup and no allocation, so that a detector may report a pair of locations
// millions of times.
//
// A Collector belongs to one goroutine.
type Collector struct {
	symbols *heisen.Symbols
	first   func(Item)

	items  []Item
	places map[string]int // by detector, kind, ops and sites in their order, if that counts
	known  map[identity]int

	key   []byte   // scratch
	sides []uint64 // scratch: op and site of each access
}

type identity struct {
	detector, fingerprint string
	reverse               bool
}

// NewCollector returns an empty Collector. symbols are those of the stream and
// may be nil. If first is not nil it is called with each finding that was not
// known before, as it arrives, with Count 1.
func NewCollector(symbols *heisen.Symbols, first func(Item)) *Collector {
	return &Collector{
		symbols: symbols,
		first:   first,
		places:  map[string]int{},
		known:   map[identity]int{},
	}
}

// Add takes a finding. It copies what it keeps.
func (c *Collector) Add(f heisen.Finding) {
	c.setKey(&f)
	if i, ok := c.places[string(c.key)]; ok {
		c.items[i].Count++
		return
	}
	id := identity{f.Detector, f.Fingerprint(c.symbols), c.reverse(&f)}
	i, ok := c.known[id]
	if ok {
		c.items[i].Count++
	} else {
		i = len(c.items)
		c.known[id] = i
		f.Accesses = slices.Clone(f.Accesses)
		f.Witness = slices.Clone(f.Witness)
		c.items = append(c.items, Item{Finding: f, Fingerprint: id.fingerprint, Count: 1, Reverse: id.reverse})
	}
	c.places[string(c.key)] = i
	if !ok && c.first != nil {
		c.first(c.items[i])
	}
}

// reverse reports in which order the accesses of a race came.
func (c *Collector) reverse(f *heisen.Finding) bool {
	if f.Kind != heisen.Race || len(f.Accesses) == 0 {
		return false
	}
	return c.place(f.Accesses[0]) > c.place(f.Accesses[len(f.Accesses)-1])
}

func (c *Collector) place(a heisen.Access) string {
	if c.symbols == nil {
		return fmt.Sprintf("%d %s", a.Site, a.Op)
	}
	return c.symbols.Site(a.Site).String() + " " + a.Op.String()
}

// setKey computes a key that is cheaper than an identity and at least as fine:
// equal keys have equal identities.
func (c *Collector) setKey(f *heisen.Finding) {
	c.sides = c.sides[:0]
	for _, a := range f.Accesses {
		c.sides = append(c.sides, uint64(a.Op)<<32|uint64(a.Site))
	}
	if f.Kind != heisen.Race {
		slices.Sort(c.sides)
	}
	c.key = binary.LittleEndian.AppendUint32(c.key[:0], uint32(len(c.sides)))
	for _, side := range c.sides {
		c.key = binary.LittleEndian.AppendUint64(c.key, side)
	}
	c.key = append(c.key, f.Kind...)
	c.key = append(c.key, 0)
	c.key = append(c.key, f.Detector...)
}

// All returns what was found, in the order of first sight. The slice is a copy;
// the accesses and witnesses in it are shared and not to be changed.
func (c *Collector) All() []Item { return slices.Clone(c.items) }

// Len returns the number of distinct findings.
func (c *Collector) Len() int { return len(c.items) }
