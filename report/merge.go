package report

import (
	"cmp"
	"slices"
)

// MergeTrials puts together what came of executions that were made apart, on other
// machines for example: findings about the same suspect become one, in the order in which
// suspects first appear. A finding without Trials stays as it is.
func MergeTrials(findings []Finding) []Finding {
	var merged []Finding
	at := map[string]int{}
	for _, f := range findings {
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
		if one := &merged[i]; one.Trials.Confirmed == 0 && t.Confirmed > 0 { // as it really happened
			f, *one = *one, f
		}
		merged[i].addTrials(&f)
	}
	return merged
}

// addTrials adds those of another finding about the same suspect.
func (f *Finding) addTrials(other *Finding) {
	t, o := f.Trials, other.Trials
	if t.Follow == "" {
		t.Follow = o.Follow
	}
	t.Executions += o.Executions
	t.Confirmed += o.Confirmed
	f.Count = uint64(max(t.Confirmed, 1))
	t.Harmful = t.Harmful || o.Harmful
	for _, from := range o.Outside {
		if !slices.Contains(t.Outside, from) {
			t.Outside = append(t.Outside, from)
		}
	}
	for _, e := range o.Endings {
		i := slices.IndexFunc(t.Endings, func(k Ending) bool { return k.same(&e) })
		if i < 0 {
			t.Endings = append(t.Endings, e)
			continue
		}
		k := &t.Endings[i]
		k.Count += e.Count
		if k.Schedule == "" && (e.Schedule != "" || e.Seed < k.Seed) {
			k.Seed, k.Schedule = e.Seed, e.Schedule
		}
	}
	slices.SortStableFunc(t.Endings, func(a, b Ending) int {
		return cmp.Or(one(b.Confirmed)-one(a.Confirmed), one(b.Outcome != "passed")-one(a.Outcome != "passed"), b.Count-a.Count)
	})
	if f.Replay == "" {
		f.Replay, f.Witness, f.Blocked = other.Replay, other.Witness, other.Blocked
		t.Replayed, t.Choices = o.Replayed, o.Choices
	}
}

// same reports whether executions ended in the same way.
func (e *Ending) same(o *Ending) bool {
	first := e.First == nil && o.First == nil || e.First != nil && o.First != nil && *e.First == *o.First
	return first && e.Outcome == o.Outcome && e.Message == o.Message && e.Confirmed == o.Confirmed
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}
