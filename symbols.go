package heisen

import (
	"fmt"
	"path"
	"strings"
	"sync"
	"sync/atomic"
)

// Symbols says what the numbers in the records of a stream stand for: sites, contexts, threads,
// names of objects and sets of objects. A [Source] fills it while it reads, before it delivers the
// records that use the numbers. Detectors, sinks and reports look numbers up.
//
// Equal calls, locks, contexts and sets of objects get equal numbers. Numbers are dense and never
// change their meaning. The number 0 has a fixed meaning in each table: an unknown site, the empty
// context, the set of all objects.
//
// The zero Symbols is empty and ready to use. A nil *Symbols is an empty table that stays empty:
// methods that look something up find nothing, and methods that add something do nothing.
//
// A Symbols is safe for concurrent use. Site, Call, Return, Acquire, Release, Context and Cursor
// take no lock for what is in the table already.
//
// A distinct call path takes about 24 bytes, a path of held locks 48, a context 16 to 24, a thread
// about 30 and a set of objects 16 bytes for each span.
type Symbols struct {
	sites    siteTable
	calls    numbering[CallNode]
	locks    numbering[LockNode]
	contexts numbering[Cursor]

	mu      sync.RWMutex // held by every change, and for the fields below
	limits  Limits
	threads threadTable
	names   map[Object]string
	reaches reachTable
	labels  [][]Label // by number, from 1

	setSites    []Site   // those that SetSite has changed, in the order of the calls
	setNames    []Object // likewise SetName
	limitPassed atomic.Bool
}

// NewSymbols returns an empty table.
func NewSymbols() *Symbols { return &Symbols{} }

// Frame is one function of a call stack.
type Frame struct {
	Func  string // package-qualified function name
	File  string // path as the compiler recorded it
	Line  int    // from 1; 0 if unknown
	Start int    // line on which the function begins, from 1; 0 if unknown
}

// SiteInfo describes a [Site]. Sites of real programs have a program counter and frames. Sites of
// text traces have a text.
//
// A site with a Task is no place in the program and has only that field. As a call in a call path
// it says that the thread works on the task, such as a test, until the call returns.
type SiteInfo struct {
	Task   string  // name of the task, or empty
	Text   string  // the site as it stands in a text trace, or empty
	PC     uint64  // program counter, or 0
	Frames []Frame // innermost first: more than one where calls were inlined; not to be changed
}

// String returns the site's text if there is one, otherwise "file:line" of its innermost frame, its
// program counter in hexadecimal, its task, or "?".
func (i SiteInfo) String() string {
	switch {
	case i.Text != "":
		return i.Text
	case len(i.Frames) > 0:
		return fmt.Sprintf("%s:%d", i.Frames[0].File, i.Frames[0].Line)
	case i.PC != 0:
		return fmt.Sprintf("%#x", i.PC)
	case i.Task != "":
		return i.Task
	}
	return "?"
}

// fingerprint identifies the site across runs, machines and versions of the program. It contains no
// directory and no address if frames or a text are known, and neither file nor line if it is known
// where the function starts.
func (i SiteInfo) fingerprint() string {
	if i.Text == "" && len(i.Frames) > 0 {
		f := i.Frames[0]
		if f.Start > 0 && f.Line > 0 {
			return fmt.Sprintf("%s +%d", f.Func, f.Line-f.Start)
		}
		return fmt.Sprintf("%s %s:%d", f.Func, path.Base(strings.ReplaceAll(f.File, `\`, "/")), f.Line)
	}
	return i.String()
}

// siteTable has a pointer for each site, so that a site can be looked up while another one is added
// or changed. Additions and changes exclude each other.
type siteTable struct {
	infos atomic.Pointer[[]atomic.Pointer[SiteInfo]] // by number; as long as there is room for
	last  atomic.Uint32                              // the largest number
}

func (t *siteTable) get(site Site) SiteInfo {
	if site == 0 || uint32(site) > t.last.Load() {
		return SiteInfo{}
	}
	return *(*t.infos.Load())[site].Load()
}

func (t *siteTable) add(info SiteInfo) Site {
	site := t.last.Load() + 1
	var infos []atomic.Pointer[SiteInfo]
	if p := t.infos.Load(); p != nil {
		infos = *p
	}
	if int(site) >= len(infos) {
		more := make([]atomic.Pointer[SiteInfo], max(64, 2*len(infos)))
		for i := range infos {
			more[i].Store(infos[i].Load())
		}
		t.infos.Store(&more)
		infos = more
	}
	infos[site].Store(&info)
	t.last.Store(site)
	return Site(site)
}

// AddSite numbers a new site. It does not look for an equal one.
func (s *Symbols) AddSite(info SiteInfo) Site {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sites.add(info)
}

// SetSite replaces what is known of a site that AddSite has numbered, for sources that learn the
// names of functions late. It ignores other numbers.
func (s *Symbols) SetSite(site Site, info SiteInfo) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if site != 0 && uint32(site) <= s.sites.last.Load() {
		(*s.sites.infos.Load())[site].Store(&info)
		s.setSites = append(s.setSites, site)
	}
}

// Site returns what is known of site, or the zero SiteInfo.
func (s *Symbols) Site(site Site) SiteInfo {
	if s == nil {
		return SiteInfo{}
	}
	return s.sites.get(site)
}

// NumSites returns one more than the largest site number. It is 0 for a nil table.
func (s *Symbols) NumSites() int {
	if s == nil {
		return 0
	}
	return int(s.sites.last.Load()) + 1
}

// SetName names an object.
func (s *Symbols) SetName(o Object, name string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, named := s.names[o]; named && old == name {
		return
	}
	if s.names == nil {
		s.names = map[Object]string{}
	}
	s.names[o] = name
	s.setNames = append(s.setNames, o)
}

// Name returns the name of an object, or its number in hexadecimal.
func (s *Symbols) Name(o Object) string {
	if s != nil {
		s.mu.RLock()
		name, named := s.names[o]
		s.mu.RUnlock()
		if named {
			return name
		}
	}
	return fmt.Sprintf("%#x", uint64(o))
}
