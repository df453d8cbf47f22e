// Command hedc asks several archives for documents, through a pool of workers, and combines their answers. A
// request that takes too long is canceled.
package main

import (
	"flag"
	"fmt"
	"strings"
	"sync"
)

// task is a request to one archive.
type task struct {
	archive *archive
	query   string

	mu       sync.Mutex
	canceled bool
	done     bool
	result   []record
}

// record is a document that an archive has found. It does not change once it is made.
type record struct {
	title string
	score int
}

func (t *task) cancel() {
	t.mu.Lock()
	t.canceled = true
	t.mu.Unlock()
}

func (t *task) isCanceled() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.canceled
}

func (t *task) finish(result []record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.canceled {
		t.result, t.done = result, true
	}
}

func (t *task) answer() ([]record, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.result, t.done
}

// archive has documents that nobody changes.
type archive struct {
	name      string
	documents []string
}

func newArchive(name string, n int, words []string) *archive {
	a := &archive{name: name}
	random := uint32(len(name))
	for range n {
		var text strings.Builder
		for range 40 {
			random = random*1664525 + 1013904223
			text.WriteString(words[int(random>>16)%len(words)])
			text.WriteByte(' ')
		}
		a.documents = append(a.documents, text.String())
	}
	return a
}

// scanner reads the words of a document. One worker has it.
type scanner struct {
	text string
	at   int
}

func (s *scanner) word() string {
	for s.at < len(s.text) && s.text[s.at] == ' ' {
		s.at++
	}
	start := s.at
	for s.at < len(s.text) && s.text[s.at] != ' ' {
		s.at++
	}
	return s.text[start:s.at]
}

// search does a task.
func (a *archive) search(t *task) {
	var found []record
	for i, text := range a.documents {
		if i%16 == 0 && t.isCanceled() {
			return
		}
		s := &scanner{text: text}
		score := 0
		for w := s.word(); w != ""; w = s.word() {
			if w == t.query {
				score++
			}
		}
		if score > 2 {
			found = append(found, record{fmt.Sprint(a.name, " ", i), score})
		}
	}
	t.finish(found)
}

// pool runs tasks.
type pool struct {
	mu     sync.Mutex
	more   *sync.Cond
	todo   []*task
	closed bool
	ran    int
}

func newPool() *pool {
	p := &pool{}
	p.more = sync.NewCond(&p.mu)
	return p
}

func (p *pool) add(t *task) {
	p.mu.Lock()
	p.todo = append(p.todo, t)
	p.mu.Unlock()
	p.more.Signal()
}

func (p *pool) next() *task {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.todo) == 0 && !p.closed {
		p.more.Wait()
	}
	if len(p.todo) == 0 {
		return nil
	}
	t := p.todo[0]
	p.todo = p.todo[1:]
	p.ran++
	return t
}

func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.more.Broadcast()
}

func (p *pool) work() {
	for t := p.next(); t != nil; t = p.next() {
		t.archive.search(t)
	}
}

func main() {
	n := flag.Int("n", 1000, "`queries`")
	flag.Parse()
	words := strings.Fields("sun flare image orbit spectrum energy field plasma corona burst photon detector grid angle rate time")
	var archives []*archive
	for _, name := range []string{"phoenix", "soho", "hessi"} {
		archives = append(archives, newArchive(name, 200, words))
	}
	p := newPool()
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(p.work)
	}
	var all []*task
	for i := range *n {
		for _, a := range archives {
			t := &task{archive: a, query: words[i%len(words)]}
			all = append(all, t)
			p.add(t)
			if i%50 == 49 {
				t.cancel()
			}
		}
	}
	p.close()
	workers.Wait()
	answered, best := 0, 0
	for _, t := range all {
		result, done := t.answer()
		if done {
			answered++
		}
		for _, r := range result {
			best = max(best, r.score)
		}
	}
	fmt.Println("asked", p.ran, "times, best score", best, "answered most:", answered > p.ran/2)
}
