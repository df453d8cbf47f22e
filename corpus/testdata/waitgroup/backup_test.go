package waitgroup

import (
	"sync"
	"sync/atomic"
	"testing"
)

// A backup copies files until it is stopped.
type backup struct {
	copied  atomic.Int32
	stopped atomic.Bool
}

// copyFile gets a copy of the wait group and is done with that one.
func (b *backup) copyFile(wg sync.WaitGroup) {
	defer wg.Done()
	if !b.stopped.Load() {
		b.copied.Add(1)
	}
}

func (b *backup) copyFileOf(wg *sync.WaitGroup) {
	defer wg.Done()
	if !b.stopped.Load() {
		b.copied.Add(1)
	}
}

func (b *backup) finish(wg *sync.WaitGroup, finished chan<- int32) {
	wg.Wait() // want leak
	finished <- b.copied.Load()
}

// TestBackup stops a backup of three files.
func TestBackup(t *testing.T) {
	b, finished := new(backup), make(chan int32, 1)
	var wg sync.WaitGroup
	for range 3 {
		wg.Add(1)
		go b.copyFile(wg)
	}
	go b.finish(&wg, finished)
	b.stopped.Store(true)
}

func TestBackupFixed(t *testing.T) {
	b, finished := new(backup), make(chan int32, 1)
	var wg sync.WaitGroup
	for range 3 {
		wg.Add(1)
		go b.copyFileOf(&wg)
	}
	go b.finish(&wg, finished)
	b.stopped.Store(true)
}
