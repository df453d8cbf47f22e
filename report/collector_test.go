package report

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/heisen-go/heisen"
)

func newCollector(t *testing.T, opts ...CollectorOption) *Collector {
	t.Helper()
	c, err := NewCollector(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// TestCollectorOrders: a race in two orders is one finding, with the order that came first, and the
// counts of both.
func TestCollectorOrders(t *testing.T) {
	a, b := heisen.Access{Op: heisen.Read, Site: 1}, heisen.Access{Op: heisen.Write, Site: 2}
	seen := 0
	c := newCollector(t, WithOnFinding(func(f *Finding) {
		if seen++; f.Count != 1 || f.Reverse != nil {
			t.Errorf("first sight of %v", f)
		}
	}))
	for i := range 5 {
		c.Add(heisen.Finding{Detector: "hb", Kind: heisen.Race, Message: "ab", Accesses: []heisen.Access{a, b}})
		if i > 2 {
			c.Add(heisen.Finding{Detector: "hb", Kind: heisen.Race, Message: "ba", Accesses: []heisen.Access{b, a}})
		}
		c.Add(heisen.Finding{Detector: "fasttrack", Kind: heisen.Race, Message: "ab", Accesses: []heisen.Access{a, b}})
	}
	all := c.Findings()
	if seen != 2 || len(all) != 2 || len(c.Hidden()) != 0 {
		t.Fatalf("%d seen, %v, hidden %v", seen, all, c.Hidden())
	}
	f := all[0]
	if f.Message != "ab" || f.Times() != "7 times, 2 of them in the other order" || f.Reverse.Message != "ba" {
		t.Errorf("%v found %s, reverse %+v", f, f.Times(), f.Reverse)
	}
	if g := all[1]; g.Detector != "fasttrack" || g.Times() != "5 times" || g.Reverse != nil {
		t.Errorf("%v found %s, reverse %+v", g, g.Times(), g.Reverse)
	}
}

// TestCollectorHides: what a baseline or a suppression names is hidden, and nothing else.
func TestCollectorHides(t *testing.T) {
	symbols := heisen.NewSymbols()
	symbols.SetName(8, "x")
	for i := range 9 {
		symbols.AddSite(heisen.SiteInfo{Text: fmt.Sprint("site ", i+1)})
	}
	finding := func(site heisen.Site, o heisen.Object) heisen.Finding {
		return heisen.Finding{Kind: heisen.Race, Accesses: []heisen.Access{{Op: heisen.Write, Site: site, Object: o}, {Op: heisen.Write, Site: site}}}
	}
	suppressions, err := ReadSuppressions("s", strings.NewReader("variable x # why"))
	if err != nil {
		t.Fatal(err)
	}
	known := finding(7, 16)
	baseline := &Baseline{}
	baseline.Add(Finding{Kind: heisen.Race, Fingerprint: known.Fingerprint(symbols)})
	seen := 0
	c := newCollector(t, WithSymbols(symbols), WithBaseline(baseline), WithSuppressions(suppressions),
		WithOnFinding(func(*Finding) { seen++ }), WithResolver(nil))
	c.Add(known)
	c.Add(finding(8, 8))
	c.Add(finding(9, 16))
	if all, hidden := c.Findings(), c.Hidden(); seen != 1 || len(all) != 1 || len(hidden) != 2 {
		t.Errorf("%d seen, %v reported, %v hidden", seen, all, hidden)
	}
}

// TestCollectorConcurrently: goroutines may report at the same time.
func TestCollectorConcurrently(t *testing.T) {
	c := newCollector(t)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 500 {
				c.Add(heisen.Finding{Kind: heisen.Race, Accesses: []heisen.Access{{Site: heisen.Site(i % 10)}, {Site: heisen.Site(g)}}})
				if i%50 == 0 {
					c.Findings()
				}
			}
		})
	}
	wg.Wait()
	n := uint64(0)
	for _, f := range c.Findings() {
		n += f.Count
	}
	if n != 2000 {
		t.Errorf("%d findings, want 2000", n)
	}
}

// TestOptions: wrong options are errors, and nil arguments are as good as none.
func TestOptions(t *testing.T) {
	for name, err := range map[string]error{
		"nil collector option": func() error { _, err := NewCollector(nil); return err }(),
		"nil resolver option":  func() error { _, err := NewResolver(nil); return err }(),
		"negative memory":      func() error { _, err := NewResolver(WithSourceMemory(-1)); return err }(),
	} {
		if !errors.Is(err, heisen.ErrOption) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	c := newCollector(t, WithSymbols(nil), WithResolver(nil), WithBaseline(nil), WithSuppressions(nil), WithOnFinding(nil))
	c.Add(heisen.Finding{})
	if n := len(c.Findings()); n != 1 {
		t.Errorf("%d findings, want 1", n)
	}
}

// TestNil: methods of zero values, and nil arguments, do not panic.
func TestNil(t *testing.T) {
	var c Collector
	c.Add(heisen.Finding{})
	if c.Findings() != nil || c.Hidden() != nil {
		t.Error("a Collector without NewCollector has findings")
	}
	c.Close()
	for _, r := range []*Resolver{nil, {}} {
		if f := r.Resolve(heisen.Finding{Kind: heisen.Race, Accesses: make([]heisen.Access, 2)}, nil); len(f.Accesses) != 2 {
			t.Errorf("resolved to %v", f)
		}
		r.Close()
	}
	var b *Baseline
	b.Add(Finding{})
	if b.Contains(&Finding{}) || (&Baseline{}).Contains(nil) || !errors.Is(b.Write(&bytes.Buffer{}), heisen.ErrZero) {
		t.Error("a nil Baseline is not empty")
	}
	var s Suppression
	if s.Matches(nil) || s.Matches(&Finding{Accesses: make([]Access, 1)}) {
		t.Error("a zero Suppression matches")
	}
	_, readJSON := ReadJSON(nil)
	_, readBaseline := ReadBaseline(nil)
	_, readSuppressions := ReadSuppressions("", nil)
	for want, err := range map[string]error{
		"report.WriteText: wrong option: the finding is nil":       WriteText(&bytes.Buffer{}, nil),
		"report.WriteText: wrong option: the writer is nil":        WriteText(nil, &Finding{}),
		"report.WriteJSON: wrong option: the finding is nil":       WriteJSON(&bytes.Buffer{}, nil),
		"report.WriteJSON: wrong option: the writer is nil":        WriteJSON(nil, &Finding{}),
		"report.ReadJSON: wrong option: the reader is nil":         readJSON,
		"report.ReadBaseline: wrong option: the reader is nil":     readBaseline,
		"report.ReadSuppressions: wrong option: the reader is nil": readSuppressions,
		"report.Baseline.Write: wrong option: the writer is nil":   new(Baseline).Write(nil),
	} {
		if !errors.Is(err, heisen.ErrOption) || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// TestUnclassified checks that a finding without a Kind can be written and read.
func TestUnclassified(t *testing.T) {
	f := new(Resolver).Resolve(heisen.Finding{Detector: "mine", Message: "something"}, nil)
	var text, line bytes.Buffer
	if err := errors.Join(WriteText(&text, &f), WriteJSON(&line, &f)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "WARNING: UNCLASSIFIED\nsomething\n") {
		t.Errorf("printed %q", &text)
	}
	if all, err := ReadJSON(&line); err != nil || len(all) != 1 || all[0].Kind != "unclassified" {
		t.Errorf("read %v, error %v", all, err)
	}
}

// TestCloseLeavesNothing: a closed Resolver leaves no goroutine and still resolves.
func TestCloseLeavesNothing(t *testing.T) {
	before := goleak.IgnoreCurrent()
	b := newBank()
	r, err := NewResolver(WithSourceMemory(1))
	if err != nil {
		t.Fatal(err)
	}
	f := heisen.Finding{Kind: heisen.Race, Accesses: []heisen.Access{b.reporting(), b.depositing(heisen.Write)}}
	open := r.Resolve(f, b.Symbols).Variable
	r.Close()
	if closed := r.Resolve(f, b.Symbols).Variable; open == "" || closed != open {
		t.Errorf("%q after Close, %q before", closed, open)
	}
	goleak.VerifyNone(t, before)
}

// TestString: a finding is one line.
func TestString(t *testing.T) {
	for name, f := range allFindings() {
		if s := f.String(); strings.ContainsAny(s, "\n") || !strings.HasPrefix(s, string(f.Kind)+": ") || !strings.HasSuffix(s, "["+f.Fingerprint+"]") {
			t.Errorf("%s: %q", name, s)
		}
	}
}

// TestBaseline: a file of findings is read, and written as a baseline, which is read and written as it is, and then what was added. A line has
// nothing that differs between runs.
func TestBaseline(t *testing.T) {
	var file bytes.Buffer
	for _, name := range []string{"race", "deadlock", "race"} {
		f := allFindings()[name]
		if err := WriteJSON(&file, &f); err != nil {
			t.Fatal(err)
		}
	}
	text := file.String()
	b, err := ReadBaseline(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	more, old := allFindings()["std"], allFindings()["deadlock"]
	if b.Contains(&more) || !b.Contains(&old) {
		t.Error("it contains the wrong findings")
	}
	b.Add(more)
	var again bytes.Buffer
	if err := b.Write(&again); err != nil {
		t.Fatal(err)
	}
	short := again.String()
	if strings.Count(short, "\n") != 4 || strings.Contains(short, "0x") || strings.Contains(short, "goroutine") || !b.Contains(&more) {
		t.Errorf("written\n%s", short)
	}
	for line := range strings.Lines(short) {
		if len(line) > 700 {
			t.Errorf("%d bytes: %s", len(line), line)
		}
	}
	b, err = ReadBaseline(strings.NewReader(short))
	if err != nil {
		t.Fatal(err)
	}
	again.Reset()
	if err := b.Write(&again); err != nil || again.String() != short || !b.Contains(&old) {
		t.Errorf("%v: read\n%swritten\n%s", err, short, again.String())
	}
	if _, err := ReadBaseline(strings.NewReader(text + "{}\n")); !errors.Is(err, ErrFinding) {
		t.Errorf("a damaged file: %v", err)
	}
	if err := b.Write(fullDisk{}); !errors.Is(err, errFull) {
		t.Errorf("a full disk: %v", err)
	}
}
