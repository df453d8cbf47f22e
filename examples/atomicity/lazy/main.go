// Command lazy serves requests with a client that is created for the first request. The pointer to
// the client is atomic, so the program has no data race. But between the load that finds no client
// and the store of a new one, another request may do the same. Then two clients are created, and
// the first is never closed.
//
// The file heisen.sections says that the load and the store belong together.
//
//	heisen run -detect atomrace -sections heisen.sections ./examples/atomicity/lazy
//	heisen run -detect atomrace -sections heisen.sections ./examples/atomicity/lazy -fixed
package main

import (
	"flag"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"sync"
	"sync/atomic"
)

// client is a connection to a shard of the storage.
type client struct {
	shard int
	table *crc32.Table
	sent  atomic.Int64
}

func (c *client) send(request string) uint32 {
	c.sent.Add(1)
	return crc32.Checksum([]byte(request), c.table)
}

// shard is a part of the storage, with the client for it.
type shard struct {
	number int
	client atomic.Pointer[client]
	mu     sync.Mutex // held by getFixed while it dials a client
	dials  atomic.Int64
}

// dial makes a client.
func (s *shard) dial() *client {
	s.dials.Add(1)
	return &client{shard: s.number, table: crc32.IEEETable}
}

// get returns the client, which it dials if there is none.
func (s *shard) get() *client {
	c := s.client.Load()
	if c == nil {
		c = s.dial()
		s.client.Store(c) // the bug: there may be one by now
	}
	return c
}

// getFixed checks again when it holds the lock.
func (s *shard) getFixed() *client {
	if c := s.client.Load(); c != nil {
		return c
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.client.Load()
	if c == nil {
		c = s.dial()
		s.client.Store(c)
	}
	return c
}

const (
	workers  = 4
	requests = 400
	shards   = 16
)

// run serves requests and prints how many clients were dialed for them.
func run(w io.Writer, fixed bool) {
	all := make([]shard, shards)
	for i := range all {
		all[i].number = i
	}
	var working sync.WaitGroup
	for id := range workers {
		working.Go(func() {
			sum := uint32(id)
			for i := range requests {
				// The next shard depends on the answers so far.
				s := &all[(i/8+int(sum%3))%shards]
				get := s.get
				if fixed {
					get = s.getFixed
				}
				sum = get().send(fmt.Sprintf("worker %d, request %d, after %08x", id, i, sum))
			}
		})
	}
	working.Wait()
	dials, sent := int64(0), int64(0)
	for i := range all {
		dials += all[i].dials.Load()
		if c := all[i].client.Load(); c != nil {
			sent += c.sent.Load()
		}
	}
	fmt.Fprintf(w, "%d clients dialed for %d shards, %d requests to lost clients\n", dials, shards, workers*requests-sent)
}

func main() {
	fixed := flag.Bool("fixed", false, "check again and dial while holding a lock")
	flag.Parse()
	run(os.Stdout, *fixed)
}
