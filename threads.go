package heisen

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
)

// ThreadInfo describes a thread.
type ThreadInfo struct {
	Name    string  // as it stands in a text trace, or empty
	Forked  bool    // whether the three fields below are known
	Parent  Thread  // the thread that started it
	Site    Site    // the go statement
	Context Context // the parent's context at the go statement
}

// SetThread records what is known of a thread.
func (s *Symbols) SetThread(t Thread, info ThreadInfo) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.threads.set(t, info) {
		s.threads.note(t, s.limits.EndedThreads > 0)
	}
}

// EndThread records that a thread has ended, so that it may be forgotten; see Limits. A thread ends once.
func (s *Symbols) EndThread(t Thread) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.limits.EndedThreads > 0 {
		s.threads.end(t, s.limits.EndedThreads)
	}
}

// Thread returns what is known of a thread. Of one that was forgotten, that is Limits.OtherThread.
func (s *Symbols) Thread(t Thread) ThreadInfo {
	if s == nil {
		return ThreadInfo{}
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.threads.forgot(t) {
		return ThreadInfo{Name: s.limits.OtherThread}
	}
	return s.threads.get(t)
}

// numThreads returns how many threads something is known of.
func (s *Symbols) numThreads() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.threads.count
}

// threadTable keeps a ThreadInfo in about 25 bytes, because programs start millions of goroutines
// and a report may name any of them. A page has the rows of 32 successive threads. The zero
// threadTable is empty.
type threadTable struct {
	pages    map[Thread]*[threadPage]threadRow
	prefixes numbering[string] // of names
	count    int

	changes  []threadChange // by SetThread, in their order; without those of forgotten threads
	changed  uint64         // the number of all changes
	unlisted uint64         // so many of them, the first ones, are not in the list
	asked    bool           // whether Changes has been called

	ended     []Thread // a ring of those that have ended and are known
	oldest    int      // the index of the one that ended first
	forgotten Thread   // the largest number of a forgotten thread, plus 1
}

// threadChange is a change by SetThread, with its number from 1 on.
type threadChange struct {
	number uint64
	thread Thread
}

const threadPage = 32

// threadRow is a ThreadInfo. The name is a prefix, of which there are few different ones, and
// possibly a decimal number that follows it.
type threadRow struct {
	number  uint64
	parent  Thread
	site    Site
	context Context
	name    uint32 // number of the prefix, shifted left by threadFlags, and flags
}

const (
	threadKnown = 1 << iota
	threadForked
	threadNumbered
	threadFlags = iota
)

func (t *threadTable) get(id Thread) (info ThreadInfo) {
	page := t.pages[id/threadPage]
	if page == nil {
		return info
	}
	row := &page[id%threadPage]
	info.Name = t.prefixes.key(row.name >> threadFlags)
	if row.name&threadNumbered != 0 {
		info.Name += strconv.FormatUint(row.number, 10)
	}
	info.Forked = row.name&threadForked != 0
	info.Parent, info.Site, info.Context = row.parent, row.site, row.context
	return info
}

// set reports whether info differs from what was known.
func (t *threadTable) set(id Thread, info ThreadInfo) bool {
	page := t.pages[id/threadPage]
	if page == nil {
		if t.pages == nil {
			t.pages = map[Thread]*[threadPage]threadRow{}
		}
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

// known returns the row of a thread, or nil if nothing is known of it.
func (t *threadTable) known(id Thread) *threadRow {
	if page := t.pages[id/threadPage]; page != nil && page[id%threadPage].name&threadKnown != 0 {
		return &page[id%threadPage]
	}
	return nil
}

// forgot reports whether a thread was forgotten. A thread with a lower number than a forgotten one, of
// which nothing is known, counts as forgotten.
func (t *threadTable) forgot(id Thread) bool { return id < t.forgotten && t.known(id) == nil }

// end records that a thread has ended, and forgets the one that ended first if there are more than limit.
func (t *threadTable) end(id Thread, limit int) {
	if t.known(id) == nil {
		return
	}
	if len(t.ended) < limit {
		t.ended = append(t.ended, id)
		return
	}
	at := &t.ended[t.oldest]
	t.oldest = (t.oldest + 1) % len(t.ended)
	t.forget(*at)
	*at = id
}

func (t *threadTable) forget(id Thread) {
	row := t.known(id)
	if row == nil {
		return
	}
	*row = threadRow{}
	t.count--
	t.forgotten = max(t.forgotten, id+1)
	if *t.pages[id/threadPage] == ([threadPage]threadRow{}) {
		delete(t.pages, id/threadPage)
	}
}

// note records a change of a thread. With forgets, when there may be many, it lists them only if somebody
// asks for changes.
func (t *threadTable) note(id Thread, forgets bool) {
	t.changed++
	if forgets && !t.asked {
		t.unlisted = t.changed
		return
	}
	if len(t.changes) > 4*t.count+1024 {
		t.changes = slices.DeleteFunc(t.changes, func(c threadChange) bool { return t.known(c.thread) == nil })
		t.changes = slices.Clip(t.changes)
	}
	t.changes = append(t.changes, threadChange{t.changed, id})
}

// since returns the threads that have changed after the change with the given number, in the order of the
// changes. If the changes are not listed, it returns all threads that something is known of.
func (t *threadTable) since(number uint64) (ids []Thread) {
	if number < t.unlisted {
		for _, page := range slices.Sorted(maps.Keys(t.pages)) {
			for i := range Thread(threadPage) {
				if id := page*threadPage + i; t.known(id) != nil {
					ids = append(ids, id)
				}
			}
		}
		return ids
	}
	i, _ := slices.BinarySearchFunc(t.changes, number+1, func(c threadChange, n uint64) int { return cmp.Compare(c.number, n) })
	for _, c := range t.changes[i:] {
		if t.known(c.thread) != nil {
			ids = append(ids, c.thread)
		}
	}
	return ids
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

// cutNumber cuts a decimal number without leading zeros off the end of a name, if there is one.
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
