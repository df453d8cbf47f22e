package library

import "testing"

// A jobRunner runs jobs in the background and logs them.
type jobRunner struct {
	log  func(...any)
	done chan string
}

// start logs when the job's result may have been received.
func (r *jobRunner) start(job string) {
	go func() {
		r.done <- job
		r.log("ran", job) // want misuse, failure "after TestLateLog has completed"
	}()
}

func (r *jobRunner) startAndLog(job string) {
	go func() {
		r.log("ran", job)
		r.done <- job
	}()
}

// TestLateLog ends when it has the result. The goroutine of the job logs by the test.
func TestLateLog(t *testing.T) {
	r := &jobRunner{log: t.Log, done: make(chan string)}
	r.start("backup")
	if job := <-r.done; job != "backup" {
		t.Errorf("job %q", job)
	}
}

func TestLateLogFixed(t *testing.T) {
	r := &jobRunner{log: t.Log, done: make(chan string)}
	r.startAndLog("backup")
	if job := <-r.done; job != "backup" {
		t.Errorf("job %q", job)
	}
}
