package main

import (
	"go/format"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heisen-go/heisen/corpus"
	"github.com/heisen-go/heisen/internal/testaid/tier"
)

func TestAddGoleak(t *testing.T) {
	for _, test := range []struct{ what, source, want, err string }{
		{"a test on one line", "package p\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) { f(t) }\n",
			"package p; import \"go.uber.org/goleak\"\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) { defer goleak.VerifyNone(t); f(t) }\n", ""},
		{"another name", "package p\n\nimport \"testing\"\n\nfunc TestA(tt *testing.T) {\n\tf()\n}\n",
			"package p; import \"go.uber.org/goleak\"\n\nimport \"testing\"\n\nfunc TestA(tt *testing.T) { defer goleak.VerifyNone(tt);\n\tf()\n}\n", ""},
		{"no test", "package p\n\nfunc f() {}\n\nfunc (x) TestA() {}\n", "package p\n\nfunc f() {}\n\nfunc (x) TestA() {}\n", ""},
		{"no name", "package p\n\nimport \"testing\"\n\nfunc TestA(*testing.T) {}\n", "", "a_test.go:5:1: TestA has no name for its *testing.T"},
		{"an empty name", "package p\n\nimport \"testing\"\n\nfunc TestA(_ *testing.T) {}\n", "", "a_test.go:5:1: TestA has no name for its *testing.T"},
	} {
		check(t, test.what, addGoleak, test.source, test.want, test.err)
	}
}

func TestReplaceMutexes(t *testing.T) {
	for _, test := range []struct{ what, source, want, err string }{
		{"mutexes and others", "package p\n\nimport (\n\t\"sync\"\n\t\"testing\"\n)\n\ntype a struct {\n\tmu sync.Mutex\n\tsync.RWMutex\n\twg *sync.WaitGroup\n}\n",
			"package p; import deadlock \"github.com/sasha-s/go-deadlock\"\n\nimport (\n\t\"sync\"\n\t\"testing\"\n)\n\ntype a struct {\n\tmu deadlock.Mutex\n\tdeadlock.RWMutex\n\twg *sync.WaitGroup\n}\n", ""},
		{"nothing else of sync", "package p\n\nimport \"sync\"\n\nvar mu = &sync.Mutex{}\n",
			"package p; import deadlock \"github.com/sasha-s/go-deadlock\"\n\nimport _ \"sync\"\n\nvar mu = &deadlock.Mutex{}\n", ""},
		{"no mutex", "package p\n\nimport \"sync\"\n\nvar wg sync.WaitGroup\n", "package p\n\nimport \"sync\"\n\nvar wg sync.WaitGroup\n", ""},
		{"no sync", "package p\n\nvar sync struct{ Mutex int }\n\nvar x = sync.Mutex\n", "package p\n\nvar sync struct{ Mutex int }\n\nvar x = sync.Mutex\n", ""},
		{"a variable of that name", "package p\n\nimport \"sync\"\n\nvar mu sync.Mutex\n\nfunc f(sync struct{ Mutex int }) int { return sync.Mutex }\n",
			"package p; import deadlock \"github.com/sasha-s/go-deadlock\"\n\nimport _ \"sync\"\n\nvar mu deadlock.Mutex\n\nfunc f(sync struct{ Mutex int }) int { return sync.Mutex }\n", ""},
		{"another name", "package p\n\nimport s \"sync\"\n\nvar mu s.Mutex\n", "", "a_test.go:3:8: sync is imported by another name"},
	} {
		check(t, test.what, replaceMutexes, test.source, test.want, test.err)
	}
}

func check(t *testing.T, what string, rewrite func(name, source string) (string, error), source, want, wrong string) {
	t.Helper()
	got, err := rewrite("a_test.go", source)
	if got != want || (err == nil) != (wrong == "") || err != nil && err.Error() != wrong {
		t.Errorf("%s: got\n%s\nerror %v", what, got, err)
	}
	if err == nil {
		if _, err := format.Source([]byte(got)); err != nil {
			t.Errorf("%s: %v in\n%s", what, err, got)
		}
	}
}

// TestRewriteCorpus: in no file of the corpus a line moves, and only tests and mutexes change.
func TestRewriteCorpus(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "corpus", "testdata", "*", "*_test.go"))
	if err != nil || len(files) < 56 {
		t.Fatalf("%d files, error %v", len(files), err)
	}
	mutex := regexp.MustCompile(`\bsync\.(RW)?Mutex\b`)
	mutexes := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		checked, err := addGoleak(file, string(text))
		if err != nil {
			t.Error(err)
			continue
		}
		if n := strings.Count(checked, "defer goleak.VerifyNone("); n != 2 {
			t.Errorf("%s: %d tests with goleak", file, n)
		}
		replaced, err := replaceMutexes(file, string(text))
		if err != nil {
			t.Error(err)
			continue
		}
		if code := regexp.MustCompile(`(?m)//.*`).ReplaceAllString(replaced, ""); mutex.MatchString(code) {
			t.Errorf("%s: a mutex is left", file)
		}
		mutexes += strings.Count(replaced, "deadlock.Mutex") + strings.Count(replaced, "deadlock.RWMutex")
		for _, changed := range []string{checked, replaced} {
			if strings.Count(changed, "\n") != strings.Count(string(text), "\n") {
				t.Errorf("%s: lines moved", file)
			}
		}
	}
	if mutexes < 20 {
		t.Errorf("only %d mutexes", mutexes)
	}
}

func TestVersions(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("module", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if got := versionsIn(string(text)); !regexp.MustCompile(`^github.com/sasha-s/go-deadlock v\S+, go.uber.org/goleak v\S+$`).MatchString(got) {
		t.Errorf("got %q", got)
	}
	main, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(main), deadlockPath) {
		t.Error("go-deadlock is a dependency of heisen")
	}
	for _, path := range []string{goleakPath, deadlockPath} {
		if !strings.Contains(string(text), path+" v") {
			t.Errorf("%s is no dependency of the module beside it", path)
		}
	}
}

func TestChooseTools(t *testing.T) {
	chosen, err := chooseTools("fuzz,race")
	if err != nil || len(chosen) != 2 || chosen[0].name != "race" || chosen[1].name != "fuzz" {
		t.Errorf("%v, error %v", chosen, err)
	}
	if all, err := chooseTools(""); err != nil || len(all) != len(tools) {
		t.Errorf("%d tools, error %v", len(all), err)
	}
	if _, err := chooseTools("race,valgrind"); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v", err)
	}
}

// TestPrint: the table has what was counted, and the lists below it have what is bad for heisen.
func TestPrint(t *testing.T) {
	c := &comparison{
		tools: []tool{tools[2], tools[4]}, runs: 3, limit: time.Second, versions: "x v1",
		programs: []corpus.Program{
			{Class: "mutex", Test: "TestA"}, {Class: "mutex", Test: "TestB"}, {Class: "order", Test: "TestC"},
		},
		done: map[string]*classResults{
			"mutex": {
				Found: map[string][]string{"goleak": {"TestA", "TestB"}, "heisen": {"TestB"}}, Seconds: map[string]float64{"goleak": 1, "heisen": 4},
				Problems: []string{"goleak: broken"},
			},
			"order": {
				Found: map[string][]string{"heisen": {"TestC"}}, Wrong: map[string][]string{"heisen": {"order/TestCFixed"}}, Seconds: map[string]float64{"goleak": 3},
			},
		},
	}
	var b strings.Builder
	if err := c.print(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"`go run ./bench/rivals", " in 3 runs of each test, or by `heisen fuzz -time 1s`; the libraries are x v1. ", `
| class                      | bugs | goleak | heisen test |
|----------------------------|-----:|-------:|------------:|
| mutex                      |    2 |      2 |           1 |
| order                      |    1 |      0 |           1 |
| all                        |    3 |      2 |           2 |
| false reports              |      |      0 |           1 |
| seconds for a class, fixed |      |    2.0 |         4.0 |
`, "\n- False reports of heisen test: order/TestCFixed.\n", "\n- Did not work: goleak: broken.\n",
		"\nBugs that other tools report and heisen does not:\n\n- heisen test: mutex/TestA (goleak).\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, &b)
		}
	}
}

// TestResume: results of a file are not measured again, and those of other flags are refused.
func TestResume(t *testing.T) {
	file := filepath.Join(t.TempDir(), "results.json")
	first := &comparison{tools: tools, runs: 3, limit: time.Second, file: file, programs: []corpus.Program{{Class: "mutex", Test: "TestA"}}}
	if err := first.resume(); err != nil || len(first.done) != 0 {
		t.Fatalf("%v, error %v", first.done, err)
	}
	first.done["mutex"] = &classResults{Found: map[string][]string{"goleak": {"TestA"}}}
	if err := first.keep(); err != nil {
		t.Fatal(err)
	}
	second := &comparison{tools: tools, runs: 3, limit: time.Second, file: file, programs: first.programs}
	if err := second.measure(t.Context()); err != nil || second.count("goleak", "mutex") != 1 || second.count("race", "") != 0 {
		t.Errorf("%v, error %v", second.done, err)
	}
	for _, other := range []*comparison{
		{tools: tools, runs: 4, limit: time.Second, file: file, programs: first.programs},
		{tools: tools, runs: 3, limit: time.Minute, file: file, programs: first.programs},
		{tools: tools[:2], runs: 3, limit: time.Second, file: file, programs: first.programs},
		{tools: tools, runs: 3, limit: time.Second, file: file},
	} {
		if err := other.measure(t.Context()); err == nil {
			t.Errorf("the results are those of %s", other.wanted)
		}
	}
}

// TestMeasure runs tools on a program with a bug that some of them report in every run, and the others in none, and
// on its fixed twin, in which none reports anything.
func TestMeasure(t *testing.T) {
	tier.Need(t, tier.CI)
	tests := []struct {
		class, program string
		tools          string
		found          []string
	}{
		{"mutex", "^TestTransfer$", "go-deadlock,detect", []string{"go-deadlock", "detect"}},
		{"channel", "^TestFetch$", "test,goleak,heisen", []string{"goleak"}},
		{"datarace", "^TestErrors$", "race,predict,fuzz", []string{"race", "predict", "fuzz"}},
	}
	for _, test := range tests[:tier.Pick(0, 0, 1, len(tests))] {
		c := &comparison{runs: 10, limit: time.Second, progress: io.Discard}
		var err error
		if c.tools, err = chooseTools(test.tools); err != nil {
			t.Fatal(err)
		}
		if err = c.load(t.Context(), test.class, regexp.MustCompile(test.program)); err == nil {
			err = c.measure(t.Context())
		}
		c.close()
		if err != nil {
			t.Errorf("%s: %v", test.program, err)
			continue
		}
		for _, tool := range c.tools {
			want := 0
			if slices.Contains(test.found, tool.name) {
				want = 1
			}
			if got := c.count(tool.name, ""); got != want || len(c.wrong(tool.name)) > 0 || len(c.problems()) > 0 {
				t.Errorf("%s: %s reports %d bugs, want %d; false reports %q, problems %q", test.program, tool.name, got, want, c.wrong(tool.name), c.problems())
			}
		}
	}
}
