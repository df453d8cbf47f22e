// Command mysql is a small database with the bugs 791, 12848, 14747 and 35714 of MySQL: a log of changes that is
// renewed, a cache of queries whose size changes, pages with an index that is dropped, and connections that are woken up
// and detached. Its clients send it statements as text.
//
// The workload oltp has 10 selections of a row, one of a range, and two updates in a transaction. The workload tpcc has
// two selections and four updates, and each transaction waits for the disk.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// database has one table, in pages of rows.
type database struct {
	pages []*page
	log   *binlog
	cache *cache
	wrong atomic.Int64
}

const perPage = 100

// page has rows, and an index of them by their text, once that is wanted.
type page struct {
	mu    sync.RWMutex
	rows  [perPage]string
	index *index
}

// index has the numbers of rows by their text, plus one.
type index struct {
	slots [2 * perPage]uint8
	used  int
}

func slot(text string) int {
	sum := uint32(1)
	for i := range len(text) {
		sum = sum*31 + uint32(text[i])
	}
	return int(sum % (2 * perPage))
}

// find returns a row that may have a text, or -1.
func (p *page) find(text string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.index == nil {
		made := new(index)
		for i, row := range p.rows {
			made.slots[slot(row)] = uint8(i + 1)
			made.used++
		}
		p.index = made
	}
	return int(p.index.slots[slot(text)]) - 1
}

// drop drops the index.
func (p *page) drop() {
	if p.index != nil {
		p.index.used = 0
		p.index = nil
	}
}

// binlog is the log of changes. Statements that come while it is renewed are lost.
type binlog struct {
	mu      sync.Mutex
	open    bool
	file    *os.File
	text    bytes.Buffer
	entries int
}

func (l *binlog) insert(statement string, sync bool) error {
	if !l.open {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries++
	l.text.WriteString(statement)
	if !sync && l.text.Len() < 1<<16 {
		return nil
	}
	if _, err := l.file.Write(l.text.Bytes()); err != nil {
		return err
	}
	l.text.Reset()
	if !sync {
		return nil
	}
	return l.file.Sync()
}

// renew begins the file anew.
func (l *binlog) renew() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = false
	name := l.file.Name()
	err := l.file.Close()
	if err == nil {
		l.file, err = os.Create(name)
	}
	l.open = true
	return err
}

// cache has the results of queries.
type cache struct {
	bins []*bin
}

type bin struct {
	mu      sync.Mutex
	results map[int]string
}

func newBins(n int) []*bin {
	bins := make([]*bin, n)
	for i := range bins {
		bins[i] = &bin{results: map[int]string{}}
	}
	return bins
}

func (c *cache) bin(id int) *bin { return c.bins[id%len(c.bins)] }

func (c *cache) look(id int) (string, bool) {
	b := c.bin(id)
	b.mu.Lock()
	defer b.mu.Unlock()
	text, ok := b.results[id]
	return text, ok
}

func (c *cache) store(id int, text string) {
	b := c.bin(id)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.results[id] = text
}

func (c *cache) forget(id int) {
	b := c.bin(id)
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.results, id)
}

// resize empties the cache and gives it another size.
func (c *cache) resize(n int) {
	c.bins = nil
	c.bins = newBins(n)
}

// connection is one of a client.
type connection struct {
	system *bool // set while it is attached
	db     *database
	sync   bool
}

// awake wakes the connection up.
func (c *connection) awake() {
	if c.system != nil {
		*c.system = true
	}
}

func (c *connection) detach() { c.system = nil }

// survive counts a statement that has failed.
func (db *database) survive() {
	if recover() != nil {
		db.wrong.Add(1)
	}
}

// execute executes a statement.
func (c *connection) execute(statement string) (string, error) {
	defer c.db.survive()
	words := strings.Fields(statement)
	id, err := strconv.Atoi(words[len(words)-1])
	if err != nil {
		return "", err
	}
	p, at := c.db.pages[id/perPage], id%perPage
	switch words[0] {
	case "SELECT":
		if text, ok := c.db.cache.look(id); ok {
			return text, nil
		}
		p.mu.RLock()
		text := p.rows[at]
		p.mu.RUnlock()
		c.db.cache.store(id, text)
		return text, nil
	case "SUM":
		total := 0
		p.mu.RLock()
		for _, row := range p.rows {
			total += len(row)
		}
		p.mu.RUnlock()
		return strconv.Itoa(total), nil
	case "FIND":
		return strconv.Itoa(p.find(words[1])), nil
	case "UPDATE":
		p.mu.Lock()
		p.rows[at] = words[1]
		p.mu.Unlock()
		p.drop()
		c.db.cache.forget(id)
		return "", c.db.log.insert(statement+"\n", c.sync)
	}
	return "", fmt.Errorf("no statement %q", words[0])
}

// transaction executes the statements of one transaction on rows of a client.
func (c *connection) transaction(random *rand.Rand, selections, updates int) error {
	rows := len(c.db.pages) * perPage
	for range selections {
		if _, err := c.execute(fmt.Sprintf("SELECT c FROM sbtest WHERE id = %d", random.IntN(rows))); err != nil {
			return err
		}
	}
	if _, err := c.execute(fmt.Sprintf("SUM k FROM sbtest WHERE page OF %d", random.IntN(rows))); err != nil {
		return err
	}
	for range updates {
		if _, err := c.execute(fmt.Sprintf("UPDATE %x WHERE id = %d", random.Uint64(), random.IntN(rows))); err != nil {
			return err
		}
	}
	_, err := c.execute(fmt.Sprintf("FIND %x IN page OF %d", random.Uint64(), random.IntN(rows)))
	return err
}

// work says what the clients do.
type work struct {
	each, workers       int // transactions of a client, and clients
	selections, updates int // in a transaction
	sync                bool
	resize, renew       int // transactions of a client between two changes of the cache, and two of the log; 0: none
	calm                bool
}

func main() {
	transactions := flag.Int("n", 20000, "transactions")
	workers := flag.Int("workers", 8, "clients")
	workload := flag.String("workload", "oltp", "oltp or tpcc")
	resize := flag.Int("resize", 1000, "transactions of a client between two changes of the size of the cache; 0 for none")
	renew := flag.Int("renew", 1000, "transactions of a client between two renewals of the log; 0 for none")
	calm := flag.Bool("calm", false, "let clients work one after the other, as a regression test does")
	flag.Parse()
	dir, err := os.MkdirTemp("", "mysql-")
	if err != nil {
		log.Fatal(err)
	}
	w := work{*transactions / *workers, *workers, 10, 2, false, *resize, *renew, *calm}
	if *workload == "tpcc" {
		w.selections, w.updates, w.sync = 2, 4, true
	}
	wrong := w.run(dir)
	os.RemoveAll(dir)
	if wrong != nil {
		log.Fatal(wrong)
	}
}

func (w work) run(dir string) error {
	file, err := os.Create(filepath.Join(dir, "binlog"))
	if err != nil {
		return err
	}
	db := &database{log: &binlog{open: true, file: file}, cache: &cache{newBins(64)}}
	for i := range 100 {
		p := new(page)
		for at := range p.rows {
			p.rows[at] = fmt.Sprintf("%x-%x", i, at)
		}
		db.pages = append(db.pages, p)
	}
	failed := make(chan error, w.workers)
	for id := range w.workers {
		go func() {
			random := rand.New(rand.NewPCG(7, uint64(id)))
			for i := range w.each {
				c := &connection{system: new(bool), db: db, sync: w.sync}
				if i%100 == 9 {
					killed := make(chan bool)
					go func() {
						defer close(killed)
						defer db.survive()
						c.awake()
					}()
					c.detach()
					<-killed
				}
				if w.resize > 0 && i%w.resize == w.resize/2 {
					db.cache.resize(64 + id)
				}
				if w.renew > 0 && i%w.renew == w.renew-1 {
					if err := db.log.renew(); err != nil {
						failed <- err
						return
					}
				}
				if err := c.transaction(random, w.selections, w.updates); err != nil {
					failed <- err
					return
				}
				c.detach()
			}
			failed <- nil
		}()
		if w.calm {
			if err := <-failed; err != nil {
				return err
			}
		}
	}
	for range w.workers {
		if w.calm {
			break
		}
		if err := <-failed; err != nil {
			return err
		}
	}
	if wrong := db.wrong.Load(); wrong > 0 {
		return fmt.Errorf("%d statements failed", wrong)
	}
	if got, want := db.log.entries, w.each*w.workers*w.updates; got != want {
		return fmt.Errorf("the log has %d changes of %d", got, want)
	}
	return nil
}
