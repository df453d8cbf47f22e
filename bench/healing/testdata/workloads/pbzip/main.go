// Command pbzip compresses blocks of text in several goroutines that take them from a queue, as pbzip2 does. The main
// goroutine deletes the queue when all blocks are compressed, maybe before a consumer has seen that it is closed.
package main

import (
	"bytes"
	"compress/flate"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"sync"
	"sync/atomic"
)

type block struct {
	number     int
	text       []byte
	compressed []byte
}

// queue is a bounded queue of blocks.
type queue struct {
	mu              sync.Mutex
	filled, emptied *sync.Cond
	blocks          []*block
	closed          bool
}

func newQueue() *queue {
	q := new(queue)
	q.filled, q.emptied = sync.NewCond(&q.mu), sync.NewCond(&q.mu)
	return q
}

func (q *queue) add(b *block) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.blocks) >= 16 {
		q.emptied.Wait()
	}
	q.blocks = append(q.blocks, b)
	q.filled.Signal()
}

func (q *queue) take() *block {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.blocks) == 0 && !q.closed {
		q.filled.Wait()
	}
	if len(q.blocks) == 0 {
		return nil
	}
	b := q.blocks[0]
	q.blocks = q.blocks[1:]
	q.emptied.Signal()
	return b
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.filled.Broadcast()
}

type compressor struct {
	fifo  *queue
	done  chan *block
	wrong atomic.Int32 // consumers that had no queue
}

// consume compresses blocks until there are no more.
func (c *compressor) consume() {
	defer func() {
		if wrong := recover(); wrong != nil {
			c.wrong.Add(1)
		}
	}()
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.DefaultCompression)
	if err != nil {
		panic(err)
	}
	for c.fifo != nil {
		b := c.fifo.take()
		if b == nil {
			return
		}
		out.Reset()
		w.Reset(&out)
		w.Write(b.text)
		w.Close()
		b.compressed = bytes.Clone(out.Bytes())
		c.done <- b
	}
}

func main() {
	blocks := flag.Int("n", 400, "blocks of 32 KiB")
	workers := flag.Int("workers", 8, "consumers")
	flag.Parse()
	random := rand.New(rand.NewPCG(1, 2))
	words := make([][]byte, 500)
	for i := range words {
		words[i] = fmt.Appendf(nil, "%x ", random.IntN(1<<random.IntN(31)))
	}
	c := &compressor{fifo: newQueue(), done: make(chan *block, 16)}
	var working sync.WaitGroup
	for range *workers {
		working.Go(c.consume)
	}
	texts := make([][]byte, *blocks)
	go func() {
		for i := range *blocks {
			var text []byte
			for len(text) < 32<<10 {
				text = append(text, words[random.IntN(len(words))]...)
			}
			texts[i] = text
			c.fifo.add(&block{number: i, text: text})
		}
	}()
	all := make([]*block, *blocks)
	for range *blocks {
		b := <-c.done
		all[b.number] = b
	}
	c.fifo.close()
	c.fifo = nil
	working.Wait()
	if wrong := c.wrong.Load(); wrong > 0 {
		log.Fatalf("%d consumers had no queue", wrong)
	}
	for i := 0; i < *blocks; i += 16 {
		text, err := io.ReadAll(flate.NewReader(bytes.NewReader(all[i].compressed)))
		if err != nil || !bytes.Equal(text, texts[i]) {
			log.Fatalf("block %d is not what it was: %v", i, err)
		}
	}
}
