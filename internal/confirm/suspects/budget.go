package suspects

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/heisen-go/heisen/internal/confirm/controlled"
)

// Budget bounds the time of executions. Each unit, a test or a program, has the same time. The survey,
// the suspects that are seen in the unit, the search and the shrinking of schedules share it: the
// survey and the suspects have half of it, the survey at most four fifths of that, and the last quarter
// is kept for schedules if there are any to shrink. Time is that of executions, added up, so that units
// are treated alike on machines with other loads.
//
// A nil Budget bounds nothing. Several goroutines may use a Budget.
type Budget struct {
	limit   time.Duration // of the executions of a unit together, but for what it is granted
	many    time.Duration // how many executions there are at a time
	at      time.Duration // how many executions of a unit there are at a time, at least 1
	mu      sync.Mutex
	nothing bool          // suspects have no bound
	ends    time.Time     // of all units together; zero if there is no bound
	within  time.Duration // how long that is
}

// leastTime is the time that an execution has in any case.
const leastTime = time.Second

// NewBudget returns a budget with a time for each of the units, when so many executions are made at a
// time. If suspects is not set, suspects have no bound, and their time does not count.
func NewBudget(each time.Duration, parallel int, units []*controlled.Unit, suspects bool) *Budget {
	at := time.Duration(max(parallel/max(len(units), 1), 1))
	return &Budget{limit: each * at, many: time.Duration(max(parallel, 1)), at: at, nothing: !suspects}
}

// leastSearch is the time that a unit has at least within a bound on all units.
const leastSearch = time.Second

// NewBudgetWithin returns a budget for units that end at about the same time, within some real time from now. If there are
// many, there is no time for all of them.
func NewBudgetWithin(within time.Duration, parallel int, units []*controlled.Unit) *Budget {
	n := max(len(units), 1)
	b := NewBudget(max(within*time.Duration(min(parallel, n))/time.Duration(n), leastSearch), parallel, units, true)
	b.within, b.ends = within, time.Now().Add(within)
	return b
}

// ended reports whether a share of the time of all units together is over, if there is a bound on it.
func (b *Budget) ended(part share) bool {
	return b != nil && !b.ends.IsZero() && !time.Now().Before(b.ends.Add(-b.within*time.Duration(100-part)/100))
}

// When the stages end, where a bound is on all units. A survey of a program tells more than a longer search of another one.
const (
	surveyEnds  share = 60
	suspectsEnd share = 85
	searchEnds  share = 100
)

// SurveyEnded reports whether no further programs may be surveyed.
func (b *Budget) SurveyEnded() bool { return b.ended(surveyEnds) }

// share is what part of the time may be used, in percent.
type share int64

const (
	forSurvey    share = 40
	forSuspects  share = 50
	forSearch    share = 75 // if there are schedules to shrink
	forSchedules share = 100
	// forSchedule is the share for shrinking a single schedule.
	forSchedule share = 12
	// forEnumeration is the share for trying all executions.
	forEnumeration share = 25
)

// of returns a share of the time of a unit.
func (b *Budget) of(part share) time.Duration {
	if b == nil {
		return math.MaxInt64
	}
	return b.limit * time.Duration(part) / 100
}

// AddTime adds the time of executions that concern several units, in equal parts.
func (b *Budget) AddTime(units []*controlled.Unit, took time.Duration) {
	if b == nil || len(units) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, u := range units {
		u.Used += took / time.Duration(len(units))
	}
}

// left returns how much of a share the units have left on average. It is 0 if nothing is.
func (b *Budget) left(units []*controlled.Unit, part share) time.Duration {
	if len(units) == 0 {
		return 0
	}
	if b == nil {
		return math.MaxInt64
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var left time.Duration
	for _, u := range units {
		left += (b.limit+u.Granted)*time.Duration(part)/100 - u.Used
	}
	return max(left/time.Duration(len(units)), 0)
}

// Before reports whether the search of a unit goes on before that of another one: executions of it have taken less time. Within a bound on
// all units, the time of one counts up to maxStale times as much, the longer nothing new was seen in it.
func (b *Budget) Before(u, other *controlled.Unit) bool {
	if b == nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.weighed(u) < b.weighed(other)
}

const (
	// maxStale is how many times less time a unit has in which nothing new is seen.
	maxStale = 4
	// staleAfter is the number of executions without anything new after which a unit has half of the time.
	staleAfter = 20
)

// weighed returns the time that a unit has used, as it counts.
func (b *Budget) weighed(u *controlled.Unit) time.Duration {
	if b.ends.IsZero() {
		return u.Used
	}
	return u.Used * time.Duration(staleAfter+min(u.Stale, (maxStale-1)*staleAfter)) / staleAfter
}

// Grant gives time that is left within a bound on all units to those that may go on, and that have used theirs: half of it, to as many as it is
// enough for, first those in which something new was seen last. It reports whether there was any.
func (b *Budget) Grant(units []*controlled.Unit) bool {
	if b == nil || b.ends.IsZero() || len(units) == 0 {
		return false
	}
	left := time.Until(b.ends) * b.many
	if left < leastSearch {
		return false
	}
	units = slices.Clone(units)
	b.mu.Lock()
	defer b.mu.Unlock()
	slices.SortStableFunc(units, func(u, other *controlled.Unit) int {
		return cmp.Or(u.Stale-other.Stale, cmp.Compare(u.Used, other.Used))
	})
	units = units[:min(len(units), int(left/leastSearch))]
	share := max(left/time.Duration(2*len(units)), leastSearch)
	for _, u := range units {
		u.Granted = max(u.Granted, u.Used-b.limit) + share
	}
	return true
}

// MaySearch reports whether there is time to search a unit. found says that there may be a schedule to shrink.
func (b *Budget) MaySearch(u *controlled.Unit, found bool) bool {
	part := forSchedules
	if found {
		part = forSearch
	}
	return !b.ended(searchEnds) && b.left([]*controlled.Unit{u}, part) > 0
}

// Over reports whether a unit has no time for one more execution.
func (b *Budget) Over(u *controlled.Unit) bool {
	return b.left([]*controlled.Unit{u}, forSchedules) <= leastTime
}

// ForEnumeration returns how long trying all executions of a unit may take. If the search of the unit is shared, one part enumerates for all: it
// has their time for that, and no more than its own.
func (b *Budget) ForEnumeration(u *controlled.Unit) time.Duration {
	if b == nil {
		return math.MaxInt64
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	whole := b.limit + u.Granted
	return whole * time.Duration(min(uint64(forEnumeration)*u.Share.Parts(), uint64(forSchedules))) / 100
}

// EnumerationQuota is ForEnumeration in executions; 0 if there is no bound.
func EnumerationQuota(u *controlled.Unit) int {
	if u.Quota == 0 {
		return 0
	}
	return max(u.Quota*int(min(uint64(forEnumeration)*u.Share.Parts(), uint64(forSchedules)))/100, 1)
}

// Enlarge gives a unit so many times the time that each one has.
func (b *Budget) Enlarge(u *controlled.Unit, times int) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	u.Granted += b.limit * time.Duration(times-1)
}

// MayTry reports whether there is time for an execution that tries a suspect.
func (b *Budget) MayTry(s *Suspect) bool {
	return b == nil || b.nothing || len(s.Units()) == 0 || !b.ended(suspectsEnd) && b.left(s.Units(), forSuspects) > 0
}

// Bounds returns the real time that an execution for a suspect may take, at most limit: half of the time
// that is left, so that a program that does not end in time has several executions. The rest of the time
// of all its units counts: most executions are much shorter.
func (b *Budget) Bounds(s *Suspect, limit time.Duration) time.Duration {
	if b == nil || len(s.Units()) == 0 || b.nothing && s.Directed() {
		return limit
	}
	left := b.left(s.Units(), forSchedules) * time.Duration(len(s.Units())) / b.at
	return min(max(left/2, leastTime), limit)
}

// Spend adds the time of an execution for a suspect.
func (b *Budget) Spend(s *Suspect, took time.Duration) {
	if b != nil && !(b.nothing && s.Directed()) {
		b.AddTime(s.Units(), took)
	}
}

// Shrinking returns how long the executions that shrink the schedule of a suspect may take together.
// bounded is false if there is no bound.
func (b *Budget) Shrinking(s *Suspect) (bound time.Duration, bounded bool) {
	if b == nil || b.nothing || len(s.Units()) == 0 {
		return 0, false
	}
	one := b.of(forSchedule)
	return min(b.left(s.Units(), forSchedules)*time.Duration(len(s.Units())), one), true
}

// ForSurvey returns how long the executions of a survey may take at most, given the units of a program.
func (b *Budget) ForSurvey(units []*controlled.Unit) time.Duration {
	if b == nil || b.nothing {
		return 0
	}
	return max(b.limit/b.at*time.Duration(len(units))*time.Duration(forSurvey)/100, leastTime)
}

// surveying returns how long one more run of a unit in a survey may take, at most limit. It is 0 if there is
// no time for it.
func (b *Budget) surveying(u *controlled.Unit, limit time.Duration) time.Duration {
	if b == nil || b.nothing {
		return limit
	}
	return min(b.left([]*controlled.Unit{u}, forSurvey)/b.at, limit)
}

// ErrNoTime is the result of an execution that had no time, or that was stopped because its time was
// over and did not end by itself.
var ErrNoTime = errors.New("the time is over")
