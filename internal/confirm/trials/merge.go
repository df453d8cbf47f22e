package trials

import (
	"cmp"
	"slices"

	"github.com/heisen-go/heisen/internal/confirm/suspects"
	"github.com/heisen-go/heisen/report"
)

// Merge combines the results of separate runs, for example on several machines. Findings about the
// same suspect become one, in the order in which the suspects first appear. A finding without Trials
// stays as it is. Each pair of accesses of a race is a finding by itself.
func Merge(findings []report.Finding) []report.Finding {
	var each, merged []report.Finding
	for i := range findings {
		each = append(each, findings[i].EachPair()...)
	}
	at := map[string]int{}
	for _, f := range each {
		if f.Trials == nil {
			merged = append(merged, f)
			continue
		}
		t := *f.Trials
		f.Trials, t.Endings, t.Outside = &t, slices.Clone(t.Endings), slices.Clone(t.Outside)
		i, known := at[t.Suspect]
		if !known {
			at[t.Suspect] = len(merged)
			merged = append(merged, f)
			continue
		}
		if one := &merged[i]; one.Trials.Confirmed == 0 && t.Confirmed > 0 { // show the bug as it happened
			f, *one = *one, f
		}
		addTrials(&merged[i], &f)
	}
	return merged
}

// addTrials adds to f the trials of another finding about the same suspect.
func addTrials(f, other *report.Finding) {
	t, o := f.Trials, other.Trials
	if t.Follow == "" {
		t.Follow = o.Follow
	}
	t.Executions += o.Executions
	t.Confirmed += o.Confirmed
	f.Count = uint64(max(t.Confirmed, 1))
	for _, from := range o.Outside {
		if !slices.Contains(t.Outside, from) {
			t.Outside = append(t.Outside, from)
		}
	}
	for _, e := range o.Endings {
		i := slices.IndexFunc(t.Endings, func(k report.Ending) bool { return sameEnding(&k, &e) })
		if i < 0 {
			t.Endings = append(t.Endings, e)
			continue
		}
		k := &t.Endings[i]
		k.Count += e.Count
		k.Leaks += e.Leaks
		k.Timing = k.Timing && e.Timing
		if k.Schedule == "" && (e.Schedule != "" || e.Seed < k.Seed) {
			k.Seed, k.Schedule = e.Seed, e.Schedule
		}
	}
	slices.SortStableFunc(t.Endings, func(a, b report.Ending) int {
		return cmp.Or(suspects.BoolOrder(b.Confirmed)-suspects.BoolOrder(a.Confirmed), suspects.BoolOrder(b.Outcome != "passed")-suspects.BoolOrder(a.Outcome != "passed"), b.Count-a.Count)
	})
	t.Harmful = t.Harmful || o.Harmful || decidesAny(f.Kind, endingsIn(t))
	if f.Replay == "" {
		f.Replay, f.Witness, f.Blocked, f.Wait = other.Replay, other.Witness, other.Blocked, other.Wait
		t.Replayed, t.Choices = o.Replayed, o.Choices
	}
}

// sameEnding reports whether executions ended in the same way.
func sameEnding(a, b *report.Ending) bool {
	first := a.First == nil && b.First == nil || a.First != nil && b.First != nil && *a.First == *b.First
	return first && a.Outcome == b.Outcome && a.Message == b.Message && a.Confirmed == b.Confirmed
}
