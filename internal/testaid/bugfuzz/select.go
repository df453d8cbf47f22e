package bugfuzz

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/heisen-go/heisen/corpus"
)

// Load reads the corpus of the module in the working directory. It returns the folder and the programs
// of the classes in a comma-separated list, or of all if the list is empty, whose tests match run. No
// matching program is no error.
func Load(ctx context.Context, classes string, run *regexp.Regexp) (folder string, programs []corpus.Program, err error) {
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/heisen-go/heisen")
	list.Stderr = os.Stderr
	module, err := list.Output()
	if err != nil {
		return "", nil, fmt.Errorf("go list: %w", err)
	}
	folder = filepath.Join(strings.TrimSpace(string(module)), "corpus", "testdata")
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return "", nil, errors.New("the corpus is not here: run the command in the folder of heisen's module")
	}
	if programs, err = corpus.Programs(); err != nil {
		return "", nil, err
	}
	var wanted []string
	if classes != "" {
		wanted = strings.Split(classes, ",")
	}
	for _, c := range wanted {
		if !slices.Contains(corpus.Classes(), c) {
			return "", nil, fmt.Errorf("there is no class %q", c)
		}
	}
	programs = slices.DeleteFunc(programs, func(p corpus.Program) bool {
		return wanted != nil && !slices.Contains(wanted, p.Class) || !run.MatchString(p.Test)
	})
	return folder, programs, nil
}
