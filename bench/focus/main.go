// Command focus compares full checking with checking under a plan (package focus), as Table 1 of Agarwal,
// Sasturkar, Wang and Stoller does, on Go counterparts of their programs and on a server (bench/focus/programs). It prints
// a table in Markdown, and that of the paper below it.
//
//	go run ./bench/focus [-count n] [-only list] [-eraser=false]
//
// It must run in the folder of the module. For each program it makes a plan by heisen infer. Then it runs the
// program, built in six ways, n times in turn, and takes medians of the processor time: plain, with go
// build -race, with heisen build, and with heisen build -focus, where the plan is used for variables alone, for
// functions alone, and for both.
//
// With -eraser it also runs a smaller problem with the detector eraser, which works outside of the program,
// without and with the plan.
//
//	go run ./bench/focus -atomicity [-count n] [-only list]
//
// With -atomicity it compares the block-based algorithm (package atomicity) with the focused one, as Table 2 of the
// paper does, on recorded traces of the programs.
//
//	go run ./bench/focus -left [-only list]
//
// With -left it counts the accesses in recorded traces that the plans leave, and ranks the reasons why, and the lines.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heisen-go/heisen/bench/measure"
	"github.com/heisen-go/heisen/bench/results"
	"github.com/heisen-go/heisen/focus"
)

// program is a program of the table.
type program struct {
	name  string
	small string // the size of the problem for Eraser, as the flag -n: a few seconds, beside which the start of heisen run is short
}

var programs = []program{
	{"elevator", "600000"}, {"tsp", "14"}, {"hedc", "600"}, {"moldyn", "20"}, {"raytracer", "240"}, {"montecarlo", "45000"}, {"server", "20000"},
}

// ways are the ways in which a program is built and run.
const (
	plain = iota
	race
	full
	fields
	methods
	focused
	eraser
	focusedEraser
	ways
)

// row is a line of the table.
type row struct {
	program
	dir     string
	plan    *focus.Plan
	seconds [ways][]float64 // of processor time
}

func main() {
	count := flag.Int("count", 5, "runs of each program in each way")
	only := flag.String("only", "", "comma-separated `list` of programs")
	withEraser := flag.Bool("eraser", true, "run Eraser, too")
	atomic := flag.Bool("atomicity", false, "compare checks of atomicity, on recorded traces")
	left := flag.Bool("left", false, "rank what is left to record under the plans, and why")
	format := results.Flag()
	flag.Parse()
	w := format.To(os.Stdout)
	if flag.NArg() > 0 || *count < 1 || *atomic && *left {
		flag.Usage()
		os.Exit(2)
	}
	measure := func() error { return compare(w, *count, *only, *withEraser) }
	if *atomic {
		measure = func() error { return compareAtomicity(w, *count, *only) }
	}
	if *left {
		measure = func() error { return showLeft(w, *only) }
	}
	if err := measure(); err != nil {
		fmt.Fprintln(os.Stderr, "focus:", err)
		os.Exit(1)
	}
}

func compare(w io.Writer, count int, only string, withEraser bool) error {
	dir, err := os.MkdirTemp("", "bench-focus-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	heisen := filepath.Join(dir, "heisen")
	if _, err := run("go", "build", "-o", heisen, "./cmd/heisen"); err != nil {
		return err
	}
	var rows []*row
	for _, p := range programs {
		if only != "" && !slices.Contains(strings.Split(only, ","), p.name) {
			continue
		}
		r := &row{program: p, dir: filepath.Join(dir, p.name)}
		if err := r.build(heisen); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		rows = append(rows, r)
	}
	if len(rows) == 0 {
		return fmt.Errorf("none of the programs is in %q", only)
	}
	for n := range count {
		for _, r := range rows {
			if err := r.measure(heisen, withEraser); err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
		}
		fmt.Fprintf(os.Stderr, "\rround %d of %d", n+1, count)
	}
	fmt.Fprintln(os.Stderr)
	return print(w, rows, withEraser)
}

func (r *row) pkg() string { return "./bench/focus/programs/" + r.name }

// planFile returns the name of the plan for a way.
func (r *row) planFile(way int) string { return filepath.Join(r.dir, fmt.Sprintf("%d.plan", way)) }

func (r *row) exe(way int) string { return filepath.Join(r.dir, fmt.Sprint(way)) }

// build makes the plans and the programs.
func (r *row) build(heisen string) error {
	if err := os.Mkdir(r.dir, 0o777); err != nil {
		return err
	}
	if _, err := run(heisen, "infer", "-plan", r.planFile(focused), r.pkg()); err != nil {
		return err
	}
	var err error
	if r.plan, err = readPlan(r.planFile(focused)); err != nil {
		return err
	}
	importPath, err := module()
	if err != nil {
		return err
	}
	ofMethods, err := methodsOnly(r.plan, ".", importPath)
	if err != nil {
		return err
	}
	if err := errors.Join(writePlan(r.planFile(fields), fieldsOnly(r.plan)), writePlan(r.planFile(methods), ofMethods)); err != nil {
		return err
	}
	for _, command := range [][]string{
		{"go", "build", "-o", r.exe(plain), r.pkg()},
		{"go", "build", "-race", "-o", r.exe(race), r.pkg()},
		{heisen, "build", "-o", r.exe(full), r.pkg()},
		{heisen, "build", "-o", r.exe(fields), "-focus", r.planFile(fields), r.pkg()},
		{heisen, "build", "-o", r.exe(methods), "-focus", r.planFile(methods), r.pkg()},
		{heisen, "build", "-o", r.exe(focused), "-focus", r.planFile(focused), r.pkg()},
	} {
		if _, err := run(command...); err != nil {
			return err
		}
	}
	return nil
}

// measure runs the program once in each way.
func (r *row) measure(heisen string, withEraser bool) error {
	commands := [][]string{{r.exe(plain)}, {r.exe(race)}, {r.exe(full)}, {r.exe(fields)}, {r.exe(methods)}, {r.exe(focused)}}
	if withEraser {
		commands = append(commands,
			[]string{heisen, "run", "-detect", "eraser", r.pkg(), "-n", r.small},
			[]string{heisen, "run", "-detect", "eraser", "-focus", r.planFile(focused), r.pkg(), "-n", r.small})
	}
	for way, command := range commands {
		seconds, err := run(command...)
		if err != nil {
			return err
		}
		r.seconds[way] = append(r.seconds[way], seconds)
	}
	return nil
}

// findings is the exit status of heisen run if Eraser reports something. It is no failure here.
const findings = 66

// run runs a command and returns its processor time in seconds.
func run(command ...string) (seconds float64, err error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(cmd.Environ(), "GORACE=atexit_sleep_ms=0") // otherwise -race sleeps for a second at exit
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	var failed *exec.ExitError
	if err != nil && !(errors.As(err, &failed) && failed.ExitCode() == findings && slices.Contains(command, "eraser")) {
		return 0, fmt.Errorf("%s: %w\n%s", strings.Join(command, " "), err, out.Bytes())
	}
	return (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), nil
}

func (r *row) median(way int) float64 { return measure.Median(r.seconds[way]) }

// overhead returns the overhead of a way of checking, and the part of full checking's overhead that it does not have.
func (r *row) overhead(way int) (overhead, removed float64) {
	base := r.median(plain)
	return r.median(way)/base - 1, (r.median(full) - r.median(way)) / (r.median(full) - base)
}

func print(w io.Writer, rows []*row, withEraser bool) error {
	if err := results.Conditions(w, "./bench/focus"); err != nil {
		return err
	}
	fmt.Fprint(w, "Processor time, in seconds for the plain program and for Eraser, and as multiples of the plain program for the others. Plans are used for variables alone (fields), for functions alone (methods), and for both, as heisen does. Removed is the part of full checking's overhead that focused checking does not have.\n\n")
	columns := []string{"program", "plain", "-race", "full", "fields: overhead", "removed", "methods: overhead", "removed", "both: overhead", "removed", "both / -race", "race-unsafe variables", "untyped functions"}
	if withEraser {
		columns = append(columns, "Eraser full", "Eraser focused", "Eraser removed")
	}
	table := results.NewTable(columns...)
	var overheads, removals, ratios, erased []float64
	for _, r := range rows {
		base := r.median(plain)
		ratio := r.median(focused) / r.median(race)
		cells := []any{r.name, base, r.median(race) / base, r.median(full) / base}
		for _, way := range []int{fields, methods, focused} {
			overhead, removed := r.overhead(way)
			cells = append(cells, percent(overhead), percent(removed))
			if way == focused {
				overheads, removals, ratios = append(overheads, overhead), append(removals, removed), append(ratios, ratio)
			}
		}
		few, variables := unsafe(r.plan)
		not, functions := untyped(r.plan)
		cells = append(cells, ratio, fmt.Sprintf("%d/%d", few, variables), fmt.Sprintf("%d/%d", not, functions))
		if withEraser {
			gone := (r.median(eraser) - r.median(focusedEraser)) / r.median(eraser)
			erased = append(erased, gone)
			cells = append(cells, r.median(eraser), r.median(focusedEraser), percent(gone))
		}
		table.Add(cells...)
	}
	if err := table.Print(w); err != nil {
		return err
	}
	summary := fmt.Sprintf("Of both: median overhead %s, median removed %s, geometric mean of both / -race %.2f", percent(measure.Median(overheads)), percent(measure.Median(removals)), measure.GeometricMean(ratios))
	if withEraser {
		summary += ", median removed from Eraser " + percent(measure.Median(erased))
	}
	fmt.Fprintf(w, "%s.\n\n", summary)
	return printPublished(w)
}

// published has the figures of the paper's Table 1: seconds without and with full checking, the overhead of
// focused checking and the part of full checking's overhead that it removes, for plans about fields, about
// methods and about both, and the fields that are race-unsafe.
var published = [][]any{
	{"elevator", ".61", ".92", "41 %", "19 %", "44 %", "13 %", "46 %", "10 %", "1/21"},
	{"tsp(12)", ".87", "3.6", "63 %", "80 %", "129 %", "59 %", "60 %", "81 %", "12/36"},
	{"tsp(15)", ".82", "3.29", "87 %", "71 %", "143 %", "59 %", "91 %", "70 %", "12/36"},
	{"hedc", "1.92", "2.60", "15 %", "57 %", "23 %", "35 %", "13 %", "63 %", "36/206"},
	{"moldyn", "34.97", "1389", "5 %", "100 %", "5877 %", "-52 %", "1 %", "100 %", "8/91"},
	{"raytracer", "29.96", "2279", "50 %", "99 %", "78 %", "99 %", "47 %", "99 %", "4/61"},
	{"montecarlo", "33.29", "142", "2 %", "99 %", "4 %", "99 %", "3 %", "99 %", "2/94"},
	{"Jigsaw", "44.4", "100", "100 %", "21 %", "40 %", "68 %", "35 %", "72 %", "3802/3854"},
}

// printPublished prints the table of the paper.
func printPublished(w io.Writer) error {
	table := results.NewTable("published (table 1)", "plain", "full (Eraser)", "fields: overhead", "removed",
		"methods: overhead", "removed", "both: overhead", "removed", "race-unsafe fields")
	for _, row := range published {
		table.Add(row...)
	}
	return table.Print(w)
}

func percent(part float64) string { return fmt.Sprintf("%.0f %%", 100*part) }
