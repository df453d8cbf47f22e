package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// batch is the number of programs that are compiled into one executable.
const batch = 1000

func main() {
	n := flag.Int("n", 2000, "`number` of programs")
	seed := flag.Uint64("seed", 1, "seed of the first program; the following programs have the following seeds")
	detect := flag.String("detect", "atomrace", "`detector`: atomrace (with noise) or fasttrack")
	broken := flag.Bool("broken", false, "leave out some synchronization and compare atomrace with hb")
	flag.Parse()
	if flag.NArg() > 0 || *n < 1 || *detect != "atomrace" && (*detect != "fasttrack" || *broken) {
		flag.Usage()
		os.Exit(2)
	}
	s := settings{programs: *n, seed: *seed, detector: *detect, broken: *broken, progress: os.Stderr}
	r, err := s.run(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, "randomprograms:", err)
		os.Exit(1)
	}
	fmt.Println(r)
	if len(r.wrong) > 0 {
		os.Exit(1)
	}
}

// settings are the parameters of a run of the command.
type settings struct {
	programs int
	seed     uint64
	detector string
	broken   bool
	progress io.Writer // may be nil
}

// A result is the outcome of some programs.
type result struct {
	programs int
	races    int      // number of reports
	racy     int      // number of programs with a report
	wrong    []string // false alarms, one for each program and pair of places
}

func (r result) String() string {
	return fmt.Sprintf("%d programs, %d of them with races (%d pairs of places), %d false alarms", r.programs, r.racy, r.races, len(r.wrong))
}

// run generates and runs the programs.
func (s settings) run(ctx context.Context) (all result, err error) {
	dir, err := os.MkdirTemp("", "randomprograms-")
	if err != nil {
		return all, err
	}
	defer os.RemoveAll(dir)
	heisen := filepath.Join(dir, "heisen")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", heisen, "github.com/heisen-go/heisen/cmd/heisen").CombinedOutput(); err != nil {
		return all, fmt.Errorf("go build: %w\n%s", err, out)
	}
	// Two batches at a time: one is compiled while the other mostly sleeps.
	var (
		start = time.Now()
		next  int
		mu    sync.Mutex // guards next, all and err
		both  sync.WaitGroup
	)
	for range 2 {
		both.Go(func() {
			mu.Lock()
			defer mu.Unlock()
			for next < s.programs && err == nil {
				first, n := next, min(batch, s.programs-next)
				next += n
				mu.Unlock()
				r, wrong := s.batch(ctx, heisen, filepath.Join(dir, fmt.Sprint(first)), s.seed+uint64(first), n)
				mu.Lock()
				if wrong != nil {
					err = wrong
					return
				}
				all.programs += n
				all.races += r.races
				all.racy += r.racy
				all.wrong = append(all.wrong, r.wrong...)
				if s.progress != nil {
					for _, w := range r.wrong {
						fmt.Fprintf(s.progress, "false alarm: %s\n", w)
					}
					fmt.Fprintf(s.progress, "%d programs, %v\n", all.programs, time.Since(start).Round(time.Second))
				}
			}
		})
	}
	both.Wait()
	return all, err
}

// batch compiles some programs into one executable and runs it.
func (s settings) batch(ctx context.Context, heisen, dir string, seed uint64, n int) (r result, err error) {
	if err := s.write(dir, seed, n); err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	args := []string{"run", "-report", "json", "-detect", s.detector}
	if s.broken {
		args[4] += ",hb"
	}
	if s.detector == "atomrace" {
		args = append(args, "-noise", "random", "-noise-strength", "200",
			"-noise-wait", "20us", "-noise-budget", "1h", "-noise-seed", fmt.Sprint(seed))
	}
	cmd := exec.CommandContext(ctx, heisen, append(args, ".")...)
	cmd.Dir = dir
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 66) {
		return r, fmt.Errorf("programs from seed %d: %w\n%s", seed, err, errs.String())
	}
	return r, r.count(&out, seed, s.broken)
}

// A finding has the fields of a finding in heisen's JSON output that count needs.
type finding struct {
	Detector, Kind, Fingerprint string
	Accesses                    []struct {
		Op    string
		Stack []struct {
			Func, File string
			Line       int
		}
	}
}

// count adds the findings in the output of a batch.
func (r *result) count(out io.Reader, seed uint64, broken bool) error {
	var found []finding
	confirmed := map[string]bool{}
	for dec := json.NewDecoder(out); ; {
		var f finding
		if err := dec.Decode(&f); err == io.EOF {
			break
		} else if err != nil {
			return fmt.Errorf("output of programs from seed %d: %w", seed, err)
		}
		if f.Detector == "hb" {
			confirmed[f.Fingerprint] = true
		} else {
			found = append(found, f)
		}
	}
	racy := map[string]bool{}
	for _, f := range found {
		r.races++
		var places []string
		name := ""
		for _, a := range f.Accesses {
			place := a.Op
			for _, frame := range a.Stack {
				if rest, ok := strings.CutPrefix(frame.Func, "main.p"); ok {
					name, _, _ = strings.Cut(rest, ".")
					place += fmt.Sprintf(" %s:%d", filepath.Base(frame.File), frame.Line)
					break
				}
			}
			places = append(places, place)
		}
		racy[name] = true
		if !broken || !confirmed[f.Fingerprint] {
			r.wrong = append(r.wrong, fmt.Sprintf("program of seed %s: %s", name, strings.Join(places, ", ")))
		}
	}
	r.racy += len(racy)
	return nil
}

// runner is the main function of the generated executable. It runs six programs at the same time.
const runner = `package main

import "sync"

type record struct {
	n  int
	s  string
	a  [4]int
	in struct{ x, y int }
}

//go:noinline
func sink(int) {}

//go:noinline
func use(v ...any) {
	if len(v) > 1000 {
		escaped = v
	}
}

var escaped []any

func main() {
	next := make(chan func())
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			for p := range next {
				p()
			}
		})
	}
	for _, p := range programs {
		next <- p
	}
	close(next)
	all.Wait()
}
`

// perFile is the number of programs in a file.
const perFile = 100

// write writes n programs as a module in the folder dir. Their seeds start with seed.
func (s settings) write(dir string, seed uint64, n int) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	list := "package main\n\nvar programs = []func(){\n"
	text := ""
	files := map[string]string{"go.mod": "module randomprograms\n\ngo 1.25\n", "main.go": runner}
	for i := range n {
		name := fmt.Sprintf("p%d", seed+uint64(i))
		list += "\t" + name + ",\n"
		text += "\n" + program(seed+uint64(i), name, s.broken)
		if i%perFile == perFile-1 || i == n-1 {
			files[fmt.Sprintf("p%d.go", i/perFile)] = imports + text
			text = ""
		}
	}
	files["list.go"] = list + "}\n"
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			return err
		}
	}
	return nil
}

const imports = `package main

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

var (
	_ = context.Background
	_ = runtime.Gosched
	_ sync.Mutex
	_ atomic.Bool
	_ time.Duration
)
`
