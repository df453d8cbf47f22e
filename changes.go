package heisen

// Revision is a point in the history of a [Symbols]. The zero Revision is its beginning, when the
// table was empty.
type Revision struct {
	sites                  Site
	calls, locks, contexts uint32
	reaches                int
	setSites, setNames     int
	setThreads             uint64
}

// Changes lists what was added to a [Symbols] and what was changed in it between two revisions. A
// program that copies a table, such as a writer of traces, applies the fields in their order. The
// copy then has the same numbers, because AddSite, Call, Acquire, Context and AddReach number what
// is new in the order of the calls.
//
// The slices are not to be changed.
type Changes struct {
	SetSites  []SiteChange   // earlier sites that SetSite has changed, once for each change
	Sites     []SiteInfo     // new sites, by number
	CallPaths []CallNode     // new call paths, by number; a parent has a smaller number
	LockPaths []LockNode     // new paths of held locks, likewise
	Contexts  []Cursor       // new contexts, by number
	Reaches   []Objects      // new sets of objects, by number
	Threads   []ThreadChange // threads that SetThread has described, once for each change, and that were not forgotten
	Names     []NameChange   // objects that SetName has named, once for each change
}

// SiteChange says what is now known of a site.
type SiteChange struct {
	Site Site
	Info SiteInfo
}

// ThreadChange says what is now known of a thread.
type ThreadChange struct {
	Thread Thread
	Info   ThreadInfo
}

// NameChange says what an object is now called.
type NameChange struct {
	Object Object
	Name   string
}

// Changes returns what has changed since a revision that an earlier call returned, and the revision
// that the table has now. Changes(Revision{}) returns everything that is in the table. The result
// stays valid while the table grows.
func (s *Symbols) Changes(since Revision) (Changes, Revision) {
	if s == nil {
		return Changes{}, since
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := Revision{
		sites: Site(s.sites.last.Load()),
		calls: s.calls.count.Load(), locks: s.locks.count.Load(), contexts: s.contexts.count.Load(),
		reaches:  len(s.reaches.sets),
		setSites: len(s.setSites), setThreads: s.threads.changed, setNames: len(s.setNames),
	}
	changes := Changes{
		CallPaths: s.calls.after(since.calls),
		LockPaths: s.locks.after(since.locks),
		Contexts:  s.contexts.after(since.contexts),
		Reaches:   s.reaches.sets[since.reaches:now.reaches:now.reaches],
	}
	for _, site := range s.setSites[since.setSites:] {
		if site <= since.sites { // the others are in Sites
			changes.SetSites = append(changes.SetSites, SiteChange{site, s.sites.get(site)})
		}
	}
	for _, t := range s.threads.since(since.setThreads) {
		changes.Threads = append(changes.Threads, ThreadChange{t, s.threads.get(t)})
	}
	s.threads.asked = true
	for _, o := range s.setNames[since.setNames:] {
		changes.Names = append(changes.Names, NameChange{o, s.names[o]})
	}
	for site := since.sites + 1; site <= now.sites; site++ {
		changes.Sites = append(changes.Sites, s.sites.get(site))
	}
	return changes, now
}
