package build

import (
	"fmt"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/vclock"
)

// maxPairs bounds the events for the reference detector, which keeps everything: a program that
// spins makes millions.
const maxPairs = 1 << 14

// checkMarks checks the guarantee of recorder.Unrepeated on a recording in the mode Marked: without
// the marked accesses the same pairs of sites race.
func (rec *recording) checkMarks(t *testing.T) {
	t.Helper()
	if len(rec.events) > maxPairs {
		return
	}
	kept := make([]heisen.Record, 0, len(rec.events))
	for _, r := range rec.events {
		if r.Flags&recorder.Repeated == 0 {
			kept = append(kept, r)
		}
	}
	if d := cmp.Diff(rec.racingPairs(rec.events), rec.racingPairs(kept)); d != "" {
		t.Errorf("without repeated accesses the racing pairs are others (-all +kept):\n%s", d)
	}
}

// checkFound checks the guarantee of recorder.Races on a recording in the mode EverythingAndRaces:
// the program finds races on the same words as FastTrack in the recording.
func (rec *recording) checkFound(t *testing.T) {
	t.Helper()
	words := func(findings []heisen.Finding) map[heisen.Object]bool {
		words := map[heisen.Object]bool{}
		for _, f := range findings {
			words[f.Object&^7] = true
		}
		return words
	}
	if d := cmp.Diff(words(rec.races), words(rec.found)); d != "" {
		t.Errorf("the program finds other words to race (-recorded +found):\n%s", d)
	}
}

// racingPairs returns the pairs of sites that race, according to the reference detector.
func (rec *recording) racingPairs(events []heisen.Record) map[string]bool {
	pairs := map[string]bool{}
	hb := must.Make(vclock.NewHappensBefore(vclock.WithSink(func(f heisen.Finding) {
		a, b := f.Accesses[0], f.Accesses[1]
		pairs[fmt.Sprint(min(a.Site, b.Site), max(a.Site, b.Site), a.Op.IsWrite() && b.Op.IsWrite())] = true
	})))
	for i := range events {
		hb.Handle(events[i].Event())
	}
	return pairs
}

// TestSpans tests which accesses the recorder leaves out as redundant.
func TestSpans(t *testing.T) {
	for name, want := range map[string]map[string]string{
		"spans": {
			"again":              "2 of 20 kept",
			"before-publication": "20 of 20 kept",
			"before-load":        "2 of 20 kept",
			"relocked":           "2 of 20 kept",
			"relocked-both":      "2 of 20 kept",
			"relocked-shared":    "2 of 20 kept",
			"after-unlock":       "20 of 20 kept",
			"between-locks":      "20 of 20 kept",
			"downgraded":         "4 of 4 kept",
			"collected":          "4 of 4 kept",
		},
		"turns":             {"in-turn": "40 of 40 kept"},
		"unlocked-by-other": {"held-no-more": "4 of 4 kept"},
	} {
		rec := record(t, run{exe: program(t), args: []string{name}, mode: recorder.Marked})
		if rec.err != nil || rec.status != 0 {
			t.Fatalf("%s: error %v, status %d: %s", name, rec.err, rec.status, rec.stderr)
		}
		got := maps.Clone(want)
		for at := range want {
			events := rec.at(t, at, heisen.Read, heisen.Write)
			kept := 0
			for _, r := range events {
				if r.Flags&recorder.Repeated == 0 {
					kept++
				}
			}
			got[at] = fmt.Sprintf("%d of %d kept", kept, len(events))
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		rec.checkMarks(t)
	}
}

// TestSkipped: accesses that are marked in one mode are missing, and counted, in the other.
func TestSkipped(t *testing.T) {
	all := record(t, run{exe: program(t), args: []string{"spans"}})
	some := record(t, run{exe: program(t), args: []string{"spans"}, mode: recorder.Unrepeated})
	if all.err != nil || some.err != nil {
		t.Fatal(all.err, some.err)
	}
	accesses := func(rec *recording) (n uint64) {
		for _, r := range rec.events {
			if r.Op == heisen.Read || r.Op == heisen.Write {
				n++
			}
		}
		return n
	}
	if all.skipped != 0 || some.skipped < 90 || accesses(some)+some.skipped != accesses(all) {
		t.Errorf("%d accesses and %d skipped, or %d and %d", accesses(all), all.skipped, accesses(some), some.skipped)
	}
}

// TestFilterThatDoesNotPay: a program that hardly repeats accesses records them without a look, and what it repeats, too.
func TestFilterThatDoesNotPay(t *testing.T) {
	all := record(t, run{exe: program(t), args: []string{"distinct"}})
	some := record(t, run{exe: program(t), args: []string{"distinct"}, mode: recorder.Unrepeated})
	if all.err != nil || some.err != nil {
		t.Fatal(all.err, some.err)
	}
	for _, rec := range []*recording{all, some} {
		for _, place := range []string{"late", "later"} {
			if n := len(rec.at(t, place, heisen.Write)); n != 2 {
				t.Errorf("%d writes at %s, want 2", n, place)
			}
		}
	}
	if n := len(some.at(t, "repeated", heisen.Write)); n < 90_000 {
		t.Errorf("%d writes at repeated are recorded, and %d accesses were skipped", n, some.skipped)
	}
}

// TestSynchronization: in this mode programs record no accesses, and all else as ever.
func TestSynchronization(t *testing.T) {
	count := func(mode recorder.Mode) map[heisen.Op]int {
		rec := record(t, run{exe: program(t), args: []string{"spans"}, mode: mode})
		if rec.err != nil {
			t.Fatal(rec.err)
		}
		ops := map[heisen.Op]int{}
		for _, r := range rec.events {
			switch r.Op {
			case heisen.Read, heisen.Write, heisen.Acquire, heisen.Release, heisen.AcquireShared, heisen.ReleaseShared, heisen.Fork:
				ops[r.Op]++
			}
		}
		return ops
	}
	want, got := count(recorder.Unrepeated), count(recorder.Synchronization)
	if want[heisen.Read] == 0 || got[heisen.Read]+got[heisen.Write] > 0 {
		t.Errorf("accesses: %v, and %v in the mode Synchronization", want, got)
	}
	delete(want, heisen.Read)
	delete(want, heisen.Write)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}
