package sarif

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/repository"
	"github.com/heisen-go/heisen/report"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// official returns the schema of the standard.
func official(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "sarif-schema-2.1.0.json"))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource(schema, doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile(schema)
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

func validate(schema *jsonschema.Schema, text []byte) error {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return schema.Validate(doc)
}

func write(t *testing.T, found []report.Finding, root repository.Root) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, found, Tool{"heisen", "v1.2.3"}, root); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// samples returns the findings of package report's golden files by name.
func samples(t *testing.T) map[string][]report.Finding {
	t.Helper()
	files, err := filepath.Glob("../../report/testdata/*.json.golden")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	all := map[string][]report.Finding{}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		found, err := report.ReadJSON(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(name), ".json.golden")] = found
	}
	return all
}

// TestSchema validates reports of all kinds of findings against the official schema, and that the
// schema finds what is wrong.
func TestSchema(t *testing.T) {
	schema := official(t)
	var all []report.Finding
	for name, found := range samples(t) {
		if err := validate(schema, write(t, found, repository.Root{})); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		all = append(all, found...)
	}
	text := write(t, all, repository.At("testdata"))
	if err := validate(schema, text); err != nil {
		t.Error(err)
	}
	if err := validate(schema, write(t, nil, repository.Root{})); err != nil {
		t.Errorf("without findings: %v", err)
	}
	for _, change := range [][2]string{
		{`"version": "2.1.0"`, `"version": "2.2.0"`},
		{`"ruleId"`, `"rule"`},
		{`"startLine": 1`, `"startLine": -1`},
		{`"level": "error"`, `"level": "fatal"`},
		{`"threadFlows"`, `"threads"`},
	} {
		wrong := strings.ReplaceAll(string(text), change[0], change[1])
		if wrong == string(text) || validate(schema, []byte(wrong)) == nil {
			t.Errorf("the schema accepts %s", change[1])
		}
	}
}

// race is a race between files of a repository, of the module cache, and with names that a URI cannot
// have.
func race() report.Finding {
	at := func(function, file string, line int) []report.Frame {
		return []report.Frame{
			{Func: "sync/atomic.AddInt64", File: "/go/src/sync/atomic/doc.go", Line: 1},
			{Func: function, File: file, Line: line},
		}
	}
	parent := heisen.Thread(0)
	return report.Finding{
		Detector: "fasttrack", Kind: heisen.Race, Fingerprint: "0123456789abcdef", Count: 3, Message: "read races with earlier write", Variable: "n",
		Accesses: []report.Access{
			{Op: "write", Thread: 1, Goroutine: "goroutine 1", Object: "0x8", Variable: "n", Site: "/repo/a b/x#1%.go:3", Source: "n = 1",
				Stack: at("example.com/m.(*T).Set", "/repo/a b/x#1%.go", 3),
				Locks: []report.Lock{{Lock: "0x10", Mode: "write", Site: "/cache/m@v1/y.go:9", Variable: "t.mu"}}},
			{Op: "read", Thread: 0, Goroutine: "main goroutine", Object: "0x8", Variable: "n", Site: "/repo/c:d.go:4", Stack: at("main.main", "/repo/c:d.go", 4)},
		},
		Goroutines: []report.Goroutine{
			{Thread: 0, Name: "main goroutine"},
			{Thread: 1, Name: "goroutine 1", Parent: &parent, Stack: at("main.main", "/repo/c:d.go", 2)},
		},
	}
}

func TestGolden(t *testing.T) {
	got := write(t, []report.Finding{race()}, repository.At("/repo"))
	if err := validate(official(t), got); err != nil {
		t.Error(err)
	}
	golden := filepath.Join("testdata", "race.sarif.golden")
	if *update {
		if err := os.WriteFile(golden, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got; -update rewrites it):\n%s", golden, diff)
	}
}

// TestPairs: the accesses of each pair of a race are places of its result.
func TestPairs(t *testing.T) {
	f, other := race(), race()
	f.Identity, f.Pair = "example.com/m.n", "1"
	other.Identity, other.Pair = f.Identity, "2"
	other.Accesses[0].Stack[1].Line, other.Accesses[0].Site = 33, "/repo/a b/x#1%.go:33"
	f.AddPairs(&other)
	text := write(t, []report.Finding{f}, repository.At("/repo"))
	if err := validate(official(t), text); err != nil {
		t.Error(err)
	}
	var log sarif
	if err := json.Unmarshal(text, &log); err != nil {
		t.Fatal(err)
	}
	if n := len(log.Runs[0].Results); n != 1 {
		t.Fatalf("%d results", n)
	}
	var lines []int
	for _, l := range log.Runs[0].Results[0].Related {
		if strings.Contains(l.Message.Text, "in another pair of accesses") && l.Physical != nil {
			lines = append(lines, l.Physical.Region.Line)
		}
	}
	if diff := cmp.Diff([]int{33, 4}, lines); diff != "" {
		t.Errorf("lines of the other pair (-want +got)\n%s", diff)
	}
}

// TestRules checks that the ids of rules, which services store, are the ones of version 1.
func TestRules(t *testing.T) {
	var ids []string
	for _, r := range rulesOf([]report.Finding{{Kind: "livelock"}, {Kind: "livelock"}}) {
		ids = append(ids, r.ID)
	}
	want := []string{"race", "atomicity", "deadlock", "discipline", "potential-race", "leak", "misuse", "failure", "unstoppable", "livelock"}
	if diff := cmp.Diff(want, ids); diff != "" {
		t.Error(diff)
	}
}

// TestThreadFlows checks that each goroutine with events has one thread flow, and that a result has
// its fingerprint.
func TestThreadFlows(t *testing.T) {
	for name, found := range samples(t) {
		var log sarif
		if err := json.Unmarshal(write(t, found, repository.Root{}), &log); err != nil {
			t.Fatal(err)
		}
		for i, r := range log.Runs[0].Results {
			if r.Fingerprints[fingerprintKey] != found[i].Fingerprint || log.Runs[0].Tool.Driver.Rules[r.RuleIndex].ID != string(found[i].Kind) {
				t.Errorf("%s: rule %d, fingerprints %v", name, r.RuleIndex, r.Fingerprints)
			}
			goroutines := map[string]bool{}
			for _, a := range found[i].Accesses {
				goroutines[a.Goroutine] = true
			}
			for _, flow := range r.Flows {
				seen := map[string]bool{}
				for _, thread := range flow.Threads {
					if seen[thread.ID] {
						t.Errorf("%s: two thread flows of %s", name, thread.ID)
					}
					seen[thread.ID] = true
					delete(goroutines, thread.ID)
				}
			}
			if len(goroutines) > 0 {
				t.Errorf("%s: no thread flows of %v", name, goroutines)
			}
		}
	}
}

// TestStart: a result stands where its goroutine was started if it waits in no file of the repository, and services show no others.
func TestStart(t *testing.T) {
	parent := heisen.Thread(0)
	f := report.Finding{
		Kind: heisen.Leak, Fingerprint: "0123456789abcdef", Message: "a goroutine waits for ever: sync.Mutex.Lock",
		Accesses: []report.Access{{Op: "acquire", Thread: 1, Goroutine: "goroutine 1", Object: "0x8", Site: "/go/src/sync/oncefunc.go:22",
			Stack: []report.Frame{{Func: "sync.OnceFunc.func1", File: "/go/src/sync/oncefunc.go", Line: 22}}}},
		Goroutines: []report.Goroutine{{Thread: 1, Name: "goroutine 1", Parent: &parent, Stack: []report.Frame{
			{Func: "lib.Start", File: "/cache/lib/start.go", Line: 3}, {Func: "m.f", File: "/repo/f.go", Line: 7}}}},
	}
	text := write(t, []report.Finding{f}, repository.At("/repo"))
	if err := validate(official(t), text); err != nil {
		t.Error(err)
	}
	var log sarif
	if err := json.Unmarshal(text, &log); err != nil {
		t.Fatal(err)
	}
	r := log.Runs[0].Results[0]
	if l := r.Locations; len(l) != 1 || l[0].Physical.Artifact.URI != "f.go" || l[0].Physical.Region.Line != 7 || l[0].Message.Text != "goroutine 1 waits, and was started here" {
		t.Errorf("%+v", l)
	}
}

// TestFolders: a file outside of the repository has an address, also if the trace is from Windows.
func TestFolders(t *testing.T) {
	w := writer{root: repository.At("/repo")}
	for file, want := range map[string]artifactLocation{
		"/cache/my lib/a.go":   {URI: "file:///cache/my%20lib/a.go"},
		"C:/cache/my lib/a.go": {URI: "file:///C:/cache/my%20lib/a.go"},
		"example.com/m/a.go":   {URI: "example.com/m/a.go"},
	} {
		if got := w.artifact(file); got != want {
			t.Errorf("%s: %+v", file, got)
		}
	}
}

// TestHostile checks that reports with hostile names are valid.
func TestHostile(t *testing.T) {
	f := race()
	const evil = "\"}]\x00\u202e</script>%zz:\xff\n:7"
	f.Variable, f.Message, f.Detector, f.Kind = evil, evil, evil, evil
	for i := range f.Accesses {
		a := &f.Accesses[i]
		a.Goroutine, a.Object, a.Variable, a.Site, a.Source = evil, evil, evil, evil, evil
		a.Stack = []report.Frame{{Func: evil, File: evil, Line: -5}, {Func: evil, File: "/repo/" + evil, Line: 1 << 40}}
	}
	if err := validate(official(t), write(t, []report.Finding{f}, repository.At("/repo"))); err != nil {
		t.Error(err)
	}
}
