// Command server measures an HTTP server under load, without a race detector, with Go's, and with
// heisen's: requests per second, and the memory of the server as it goes. The server
// (bench/server/program) is a process of its own. It starts four goroutines or more for each request,
// and nobody waits for most of them.
//
//	go run ./bench/server [-detector none|race|heisen] [-requests n] [-parallel n] [-keep] [-plant] [-samples n]
//
// It must run in the folder of the module. With -plant, some of the last requests race; the exit status
// is 1 if that is not found.
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
)

type options struct {
	detector           string
	requests, parallel int
	samples            int
	keep, plant        bool
}

func main() {
	var o options
	flag.StringVar(&o.detector, "detector", "heisen", "the race detector: none, race (that of go build -race), or heisen")
	flag.IntVar(&o.requests, "requests", 200_000, "requests in all")
	flag.IntVar(&o.parallel, "parallel", 16, "requests at the same time")
	flag.IntVar(&o.samples, "samples", 10, "lines of output")
	flag.BoolVar(&o.keep, "keep", false, "use connections for several requests")
	flag.BoolVar(&o.plant, "plant", false, "let some of the last requests race")
	flag.Parse()
	if flag.NArg() > 0 || o.requests < 1 || o.parallel < 1 || o.samples < 1 || o.samples > o.requests {
		flag.Usage()
		os.Exit(2)
	}
	if err := measure(o); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

// measure starts the server, loads it, and prints what it measures.
func measure(o options) error {
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
		args = []string{"run", program, "--"}
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
	loadErr := load(o, pid, addr)
	if resp, err := http.Get("http://" + addr + "/quit"); err == nil {
		resp.Body.Close()
	}
	io.Copy(&report, lines)
	err = server.Wait()
	if out := strings.TrimSpace(report.String()); out != "" {
		fmt.Println(out)
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

// load makes the requests, and prints the speed and the server's memory now and then.
func load(o options, pid int, addr string) error {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: !o.keep, MaxIdleConnsPerHost: o.parallel}}
	fmt.Printf("%10s %12s %10s\n", "requests", "requests/s", "MiB")
	done := 0
	for i := range o.samples {
		part := o.requests*(i+1)/o.samples - done
		start := time.Now()
		if err := requests(client, addr, part, o.parallel); err != nil {
			return err
		}
		done += part
		fmt.Printf("%10d %12.0f %10.1f\n", done, float64(part)/time.Since(start).Seconds(), float64(resident(pid))/(1<<20))
	}
	return nil
}

// requests makes n requests.
func requests(client *http.Client, addr string, n, parallel int) error {
	var next atomic.Int64
	errs := make([]error, parallel)
	var all sync.WaitGroup
	for k := range parallel {
		all.Go(func() {
			for i := next.Add(1); i <= int64(n) && errs[k] == nil; i = next.Add(1) {
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
	return errors.Join(errs...)
}

// resident returns the memory of a process, 0 if it is not known.
func resident(pid int) (bytes uint64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err == nil {
		var size uint64
		fmt.Sscan(string(text), &size, &bytes)
	}
	return bytes * uint64(os.Getpagesize())
}
