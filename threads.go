package heisen

import (
	"math"
	"strconv"
)

// threadTable holds what is known of threads in about 25 bytes each, for
// programs start millions of goroutines, and a report may name any of them. It
// has the rows of 32 successive threads side by side.
type threadTable struct {
	pages    map[Thread]*[threadPage]threadRow
	prefixes numbering[string] // of names
	count    int
}

const threadPage = 32

// threadRow is a ThreadInfo. A name is a prefix, of which there are few, and
// what follows it in decimal, if anything does.
type threadRow struct {
	number  uint64
	parent  Thread
	site    Site
	context Context
	name    uint32 // number of the prefix, shifted, and flags
}

const (
	threadKnown = 1 << iota
	threadForked
	threadNumbered
	threadFlags = iota
)

func newThreadTable() threadTable {
	return threadTable{
		pages:    map[Thread]*[threadPage]threadRow{},
		prefixes: newNumbering[string](),
	}
}

func (t *threadTable) get(id Thread) (info ThreadInfo) {
	page := t.pages[id/threadPage]
	if page == nil {
		return info
	}
	row := &page[id%threadPage]
	info.Name = t.prefixes.keys[row.name>>threadFlags]
	if row.name&threadNumbered != 0 {
		info.Name += strconv.FormatUint(row.number, 10)
	}
	info.Forked = row.name&threadForked != 0
	info.Parent, info.Site, info.Context = row.parent, row.site, row.context
	return info
}

// set reports whether info is new.
func (t *threadTable) set(id Thread, info ThreadInfo) bool {
	page := t.pages[id/threadPage]
	if page == nil {
		page = new([threadPage]threadRow)
		t.pages[id/threadPage] = page
	}
	prefix, number, numbered := cutNumber(info.Name)
	row := threadRow{number: number, parent: info.Parent, site: info.Site, context: info.Context}
	row.name = t.prefix(prefix)<<threadFlags | threadKnown
	if numbered {
		row.name |= threadNumbered
	}
	if info.Forked {
		row.name |= threadForked
	}
	old := &page[id%threadPage]
	if *old == row {
		return false
	}
	if old.name&threadKnown == 0 {
		t.count++
	}
	*old = row
	return true
}

func (t *threadTable) prefix(text string) uint32 {
	if text == "" {
		return 0
	}
	hash := hashText(text)
	id := t.prefixes.find(text, hash)
	if id == 0 {
		id = t.prefixes.add(text, hash, hashText)
	}
	return id
}

// cutNumber cuts the number off the end of a name, if there is one in its
// shortest form.
func cutNumber(name string) (prefix string, number uint64, ok bool) {
	i := len(name)
	for i > 0 && '0' <= name[i-1] && name[i-1] <= '9' {
		i--
	}
	for i < len(name)-1 && name[i] == '0' {
		i++ // these zeros belong to the prefix
	}
	if i == len(name) {
		return name, 0, false
	}
	number, err := strconv.ParseUint(name[i:], 10, 64)
	if err != nil { // too large
		return name, 0, false
	}
	return name[:i], number, true
}

func hashText(s string) uint64 {
	h := uint64(math.MaxUint64)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 0x100000001b3
	}
	return mix(h)
}
