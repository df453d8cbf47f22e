package vclock_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
)

const corpus = "../trace/testdata/corpus"

// parseSTD reads a trace in the STD text format, thread|operation|site, with
// numbers as sites.
func parseSTD(text string) ([]heisen.Record, error) {
	threads, objects := map[string]heisen.Thread{}, map[string]heisen.Object{}
	thread := func(name string) heisen.Thread {
		if _, ok := threads[name]; !ok {
			threads[name] = heisen.Thread(len(threads))
		}
		return threads[name]
	}
	ops := map[string]heisen.Op{
		"r": heisen.Read, "w": heisen.Write, "acq": heisen.Acquire, "rel": heisen.Release,
		"fork": heisen.Fork, "join": heisen.Join, "begin": heisen.Enter, "end": heisen.Exit,
	}
	var trace []heisen.Record
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimSpace(line), "|")
		if len(f) != 3 {
			return nil, fmt.Errorf("line %q", line)
		}
		name, object, _ := strings.Cut(strings.TrimSuffix(f[1], ")"), "(")
		site, err := strconv.ParseUint(f[2], 10, 32)
		if err != nil || ops[name] == heisen.Invalid {
			return nil, fmt.Errorf("line %q: %v", line, err)
		}
		r := heisen.Record{Op: ops[name], Thread: thread(f[0]), Site: heisen.Site(site)}
		switch {
		case r.Op == heisen.Fork || r.Op == heisen.Join:
			r.Object = heisen.Object(thread(object))
		case object != "":
			if _, ok := objects[object]; !ok {
				objects[object] = heisen.Object(8 * (len(objects) + 1))
			}
			r.Object = objects[object]
		}
		trace = append(trace, r)
	}
	return trace, nil
}

// laterSides returns how many accesses are the later side of a finding and, after
// a tab, their sites, sorted as numbers and without repetition.
func laterSides(found []heisen.Finding) string {
	index, at := map[uint64]bool{}, map[heisen.Site]bool{}
	for _, f := range found {
		index[f.Accesses[1].Index] = true
		at[f.Accesses[1].Site] = true
	}
	var sorted []int
	for s := range at {
		sorted = append(sorted, int(s))
	}
	slices.Sort(sorted)
	sites := strings.ReplaceAll(strings.Trim(fmt.Sprint(sorted), "[]"), " ", ",")
	return fmt.Sprintf("%d\t%s", len(index), sites)
}

// TestCorpusVerdicts compares with what an independent analyser says of the
// corpus: the reference with its vector clocks, event by event. FastTrack must
// find some of those events, in the same traces. The analyser's own epoch
// detector goes on differently after the first race of a variable, so how often
// the two agree is logged only.
func TestCorpusVerdicts(t *testing.T) {
	table, err := os.ReadFile(filepath.Join(corpus, "verdicts.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	verdicts := map[string]map[string]string{} // events and sites by trace and engine
	for line := range strings.Lines(string(table)) {
		name, rest, _ := strings.Cut(strings.TrimRight(line, "\n"), "\t")
		engine, verdict, _ := strings.Cut(rest, "\t")
		if verdicts[name] == nil {
			verdicts[name] = map[string]string{}
		}
		verdicts[name][engine] = verdict
	}
	agree, sameEpoch := 0, 0
	for name, verdict := range verdicts {
		if verdict["HB"] == "" || name == "trace" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(corpus, "std", name))
		if err != nil {
			t.Fatal(err)
		}
		trace, err := parseSTD(string(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		hb, err := findingsOf(trace, reference)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := laterSides(hb); got != verdict["HB"] {
			t.Errorf("%s: %s, want %s", name, got, verdict["HB"])
		} else {
			agree++
		}
		ft, err := findingsOf(trace, fastTrack)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if (len(ft) > 0) != (len(hb) > 0) {
			t.Errorf("%s: FastTrack has %d findings, the reference %d", name, len(ft), len(hb))
		}
		if laterSides(ft) == verdict["HBEpoch"] {
			sameEpoch++
		}
	}
	if agree != 80 {
		t.Errorf("the reference agrees on %d traces of 80", agree)
	}
	t.Logf("FastTrack finds the same events as the other epoch detector in %d traces", sameEpoch)
}
