// Command server measures an HTTP server under load, without a race detector, with Go's, and with
// heisen's: requests per second, and the memory of the server as it goes, which standard error shows at once. The server
// (bench/server/program) is a process of its own. It starts four goroutines or more for each request,
// and nobody waits for most of them. With a detector that works outside of programs, the memory of
// the heisen process, which analyzes, is listed too.
//
//	go run ./bench/server [-detector none|race|heisen] [-detect list] [-requests n] [-for duration]
//	    [-parallel n] [-keep] [-plant] [-samples n]
//
// It must run in the folder of the module. -detector may be a list, whose members are measured one
// after the other. With -plant, some of the last requests race; the exit status is 1 if that is not
// found.
package main

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heisen-go/heisen/bench/results"
)

type options struct {
	detector           string
	detect, filter     string
	requests, parallel int
	limit              time.Duration
	samples            int
	keep, plant        bool
	out                io.Writer
}

func main() {
	var o options
	list := flag.String("detector", "heisen", "comma-separated list of race detectors: none, race (that of go build -race), heisen")
	flag.StringVar(&o.detect, "detect", "fasttrack", "the -detect flag of heisen")
	flag.StringVar(&o.filter, "filter", "tree", "the -filter flag of heisen")
	flag.DurationVar(&o.limit, "for", 0, "end after this time; 0 is no limit")
	flag.IntVar(&o.requests, "requests", 200_000, "requests in all")
	flag.IntVar(&o.parallel, "parallel", 16, "requests at the same time")
	flag.IntVar(&o.samples, "samples", 10, "rows of the table")
	flag.BoolVar(&o.keep, "keep", false, "use connections for several requests")
	flag.BoolVar(&o.plant, "plant", false, "let some of the last requests race")
	format := results.Flag()
	flag.Parse()
	if flag.NArg() > 0 || o.requests < 1 || o.parallel < 1 || o.samples < 1 || o.samples > o.requests {
		flag.Usage()
		os.Exit(2)
	}
	o.out = format.To(os.Stdout)
	err := results.Conditions(o.out, "./bench/server")
	table := results.NewTable("detector", "requests", "requests/s", "MiB", "MiB (heisen)")
	for _, o.detector = range strings.Split(*list, ",") {
		if err == nil {
			err = measure(o, table)
		}
	}
	if err := errors.Join(err, table.Print(o.out)); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

// measure starts the server, loads it, and adds what it measures to a table.
func measure(o options, table *results.Table) error {
	dir, err := os.MkdirTemp("", "heisen-server-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	const program = "./bench/server/program"
	exe, args := filepath.Join(dir, "program"), []string{}
	build := []string{"build", "-o", exe}
	switch o.detector {
	case "none":
		build = append(build, program)
	case "race":
		build = append(build, "-race", program)
	case "heisen":
		exe = filepath.Join(dir, "heisen")
		build = []string{"build", "-o", exe, "./cmd/heisen"}
		args = []string{"run", "-detect", o.detect, "-filter", o.filter, program, "--"}
	default:
		return fmt.Errorf("no detector %q", o.detector)
	}
	if out, err := exec.Command("go", build...).CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	if o.plant {
		args = append(args, "-plant", fmt.Sprint(max(1, o.requests-o.parallel)))
	}
	server := exec.Command(exe, args...)
	var report bytes.Buffer
	server.Stderr = &report
	output, err := server.StdoutPipe()
	if err != nil {
		return err
	}
	if err := server.Start(); err != nil {
		return err
	}
	lines := bufio.NewReader(output)
	var pid int
	var addr string
	if _, err := fmt.Fscanln(lines, &pid, &addr); err != nil {
		server.Process.Kill()
		return errors.Join(err, server.Wait(), errors.New(report.String()))
	}
	loadErr := load(o, pid, server.Process.Pid, addr, table)
	if resp, err := http.Get("http://" + addr + "/quit"); err == nil {
		resp.Body.Close()
	}
	var rest bytes.Buffer
	io.Copy(&rest, lines)
	err = server.Wait() // from here on nothing is written to report
	report.Write(rest.Bytes())
	if out := strings.TrimSpace(report.String()); out != "" {
		fmt.Fprintln(os.Stderr, out)
	}
	var status *exec.ExitError
	switch {
	case loadErr != nil:
		return loadErr
	case !o.plant || errors.As(err, &status) && strings.Contains(report.String(), "DATA RACE"):
		return nil
	case err == nil:
		err = errors.New("the planted race was not found")
	}
	return err
}

// name returns the name of the detector with its flags.
func (o *options) name() string {
	if o.detector != "heisen" {
		return o.detector
	}
	return fmt.Sprintf("heisen -detect %s -filter %s", o.detect, o.filter)
}

// load makes the requests. Now and then it adds the speed and the memory of the server and of the process
// that analyzes to a table, and says them.
func load(o options, pid, analyzer int, addr string, table *results.Table) error {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: !o.keep, MaxIdleConnsPerHost: o.parallel}}
	done, begin := 0, time.Now()
	for i := range o.samples {
		want := o.requests*(i+1)/o.samples - done
		part, start := o.sample(i, begin), time.Now()
		n, err := requests(client, addr, want, o.parallel, part)
		if err != nil {
			return err
		}
		done += n
		speed := float64(n) / time.Since(start).Seconds()
		row := []any{o.name(), done, results.Cell{Value: speed, Text: fmt.Sprintf("%.0f", speed)}, mebibytes(pid)}
		if analyzer != pid {
			row = append(row, mebibytes(analyzer))
		}
		table.Add(row...)
		fmt.Fprintf(os.Stderr, "%s: %d requests, %.0f requests/s, %.1f MiB\n", o.name(), done, speed, mebibytes(pid))
	}
	return nil
}

// sample returns when sample i ends at the latest; the zero time if there is no limit.
func (o *options) sample(i int, begin time.Time) (end time.Time) {
	if o.limit > 0 {
		end = begin.Add(o.limit * time.Duration(i+1) / time.Duration(o.samples))
	}
	return end
}

// requests makes n requests, or as many as can begin until a time. It returns their number.
func requests(client *http.Client, addr string, n, parallel int, until time.Time) (int, error) {
	var next, made atomic.Int64
	errs := make([]error, parallel)
	var all sync.WaitGroup
	for k := range parallel {
		all.Go(func() {
			for i := next.Add(1); i <= int64(n) && errs[k] == nil; i = next.Add(1) {
				if !until.IsZero() && time.Now().After(until) {
					return
				}
				made.Add(1)
				resp, err := client.Get(fmt.Sprintf("http://%s/work?user=u%d", addr, i%1000))
				if err == nil {
					_, err = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
				errs[k] = err
			}
		})
	}
	all.Wait()
	return int(made.Load()), errors.Join(errs...)
}

// mebibytes returns the memory of a process, 0 if it is not known.
func mebibytes(pid int) float64 {
	var bytes uint64
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err == nil {
		var size uint64
		fmt.Sscan(string(text), &size, &bytes)
	}
	return float64(bytes) * float64(os.Getpagesize()) / (1 << 20)
}
