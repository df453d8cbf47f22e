package cond

import (
	"sync"
	"testing"
)

// A taskList gives tasks to workers until it is closed.
type taskList struct {
	mu     sync.Mutex
	more   *sync.Cond
	tasks  []string
	closed bool
}

func (l *taskList) add(task string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tasks = append(l.tasks, task)
	l.more.Signal()
}

func (l *taskList) next() (task string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.tasks) == 0 && !l.closed {
		l.more.Wait() // want leak
	}
	if len(l.tasks) == 0 {
		return "", false
	}
	task, l.tasks = l.tasks[0], l.tasks[1:]
	return task, true
}

// close wakes one of the workers.
func (l *taskList) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.more.Signal()
}

// closeForAll wakes all of them.
func (l *taskList) closeForAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.more.Broadcast()
}

func workOff(close func(*taskList)) {
	l := new(taskList)
	l.more = sync.NewCond(&l.mu)
	for range 2 {
		go func() {
			for _, ok := l.next(); ok; _, ok = l.next() {
			}
		}()
	}
	l.add("build")
	l.add("test")
	close(l)
}

// TestClosing closes a list for which two workers may wait.
func TestClosing(t *testing.T) { workOff((*taskList).close) }

func TestClosingFixed(t *testing.T) { workOff((*taskList).closeForAll) }
