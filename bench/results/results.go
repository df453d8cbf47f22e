// Package results writes the results of benchmark commands: the conditions under which they were
// measured, and tables. They are Markdown, CSV or JSON, as the flag -format of each command says.
package results

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// Conditions writes a paragraph with what results depend on: the command line, the processor, the
// operating system, the versions of Go and heisen, and the date. The command line is that of a
// command of this module, as go run takes it: the package, such as ./bench/noise, and os.Args.
func Conditions(w io.Writer, pkg string) error {
	c := conditions{
		Command: CommandLine(append([]string{pkg}, os.Args[1:]...)...),
		Machine: fmt.Sprintf("%d × %s, %s/%s", runtime.NumCPU(), processor(), runtime.GOOS, runtime.GOARCH),
		Go:      strings.TrimPrefix(runtime.Version(), "go"),
		Heisen:  revision(),
		Date:    time.Now().UTC().Format(time.DateOnly),
	}
	if data, ok := w.(*dataWriter); ok {
		data.conditions = c
		return nil
	}
	_, err := fmt.Fprintf(w, "%s.\n\n", c)
	return err
}

// conditions are what results depend on.
type conditions struct {
	Command string `json:"command"`
	Machine string `json:"machine"`
	Go      string `json:"go"`
	Heisen  string `json:"heisen"`
	Date    string `json:"date"`
}

func (c conditions) String() string {
	return fmt.Sprintf("`%s` on %s, Go %s, heisen %s, %s", c.Command, c.Machine, c.Go, c.Heisen, c.Date)
}

// CommandLine returns the line that runs a command of this module with arguments, as a shell takes it.
func CommandLine(args ...string) string {
	line := "go run"
	for _, arg := range args {
		if !plain.MatchString(arg) {
			arg = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
		line += " " + arg
	}
	return line
}

// plain matches what a shell leaves as it is.
var plain = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

// processor returns the model of the processor.
func processor() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}

// revision returns the commit of the sources in the working directory, with a + if they have changed
// since.
func revision() string {
	git := func(args ...string) (string, error) {
		out, err := exec.Command("git", args...).Output()
		return strings.TrimSpace(string(out)), err
	}
	commit, err := git("rev-parse", "--short=10", "HEAD")
	if err != nil {
		return "of an unknown commit"
	}
	if changed, err := git("status", "--porcelain", "--untracked-files=no", "--", "*.go"); err != nil || changed != "" {
		commit += "+"
	}
	return commit
}
