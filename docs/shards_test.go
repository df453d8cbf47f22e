package docs_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/heisen-go/heisen/internal/testaid/heisencmd"
	"github.com/heisen-go/heisen/internal/testaid/tier"
)

// shardsModule is a module with a race.
var shardsModule = map[string]string{
	"go.mod": "module example.com/shop\n\ngo 1.25\n",
	"shop_test.go": `package shop

import (
	"sync"
	"testing"
)

func TestShop(t *testing.T) {
	total := 0
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() { total += i })
	}
	wg.Wait()
}
`,
}

// fuzzLine matches a command of a configuration.
var fuzzLine = regexp.MustCompile(`(?m)^ *- (?:run: )?(heisen fuzz .*)$`)

// TestShards runs the commands of the configurations for several machines: the first one for each part, with the index that the system gives it, then the
// second one, on what travels. All parts are there, the race is found, and the corpus knows it.
func TestShards(t *testing.T) {
	tier.Need(t, tier.CI)
	bin := heisencmd.Install(t)
	for file, travel := range map[string]string{
		"github-shards.yml":     "mkdir -p parts && cp -r memory parts/part-$1 && rm -r memory", // each part has a machine of its own
		"kubernetes-shards.yml": "true",
	} {
		t.Run(file, func(t *testing.T) {
			text := read(t, "docs/ci/"+file)
			if err := yaml.Unmarshal([]byte(strings.Split(text, "\n---\n")[0]), new(any)); err != nil {
				t.Fatal(err)
			}
			work := t.TempDir()
			for name, content := range shardsModule {
				if err := os.WriteFile(filepath.Join(work, name), []byte(content), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			commands := fuzzLine.FindAllStringSubmatch(text, -1)
			if len(commands) != 2 {
				t.Fatalf("commands %q", commands)
			}
			run := func(command string, index int) string {
				for _, c := range [][2]string{{"${{ strategy.job-index }}", "$JOB_COMPLETION_INDEX"}, {"${{ strategy.job-total }}", "4"}, {"/corpus/", "corpus/"}} {
					command = strings.ReplaceAll(command, c[0], c[1])
				}
				cmd := exec.Command("sh", "-c", command, "sh", fmt.Sprint(index))
				cmd.Dir = work
				cmd.Env = append(cmd.Environ(), "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"), fmt.Sprintf("JOB_COMPLETION_INDEX=%d", index))
				out, err := cmd.CombinedOutput()
				if status := cmd.ProcessState.ExitCode(); status != 0 && status != 66 {
					t.Fatalf("%s: %v\n%s", command, err, out)
				}
				return string(out)
			}
			for i := range 4 {
				run(commands[0][1], i)
				run(travel, i)
			}
			out := run(commands[1][1], 0)
			if strings.Contains(out, "missing") || !strings.Contains(out, "4 parts searched 1 test") || strings.Count(out, "DATA RACE") != 1 {
				t.Errorf("%s", out)
			}
			if pages, corpora := count(t, work, "heisen.html"), count(t, work, "*.corpus"); pages != 1 || corpora != 4+1 {
				t.Errorf("%d pages, and %d files of corpora, want one for each part and one of all", pages, corpora)
			}
		})
	}
}

// count returns how many files below a folder have a name.
func count(t *testing.T, folder, pattern string) (n int) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if is, _ := filepath.Match(pattern, filepath.Base(path)); err == nil && is && !d.IsDir() {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
