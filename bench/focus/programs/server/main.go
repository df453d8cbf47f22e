// Command server is a shop behind net/http. Clients log in, look at articles, fill baskets and pay. Connections are pipes in
// memory. Handlers share sessions, a cache of rendered pages, the stock and statistics; a pool of workers makes invoices.
package main

import (
	"bytes"
	"container/list"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// pipes is a listener whose connections are pipes.
type pipes struct {
	accepted chan net.Conn
	closed   chan struct{}
	once     sync.Once
}

func newPipes() *pipes { return &pipes{accepted: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accepted:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error { p.once.Do(func() { close(p.closed) }); return nil }

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "unix"} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.accepted <- server:
		return client, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// article is something to buy. What it is does not change; how many there are does.
type article struct {
	id    int
	name  string
	price int
	words []string

	mu    sync.Mutex
	stock int
	sold  int
}

func (a *article) take(n int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stock < n {
		a.stock += 1000 // a delivery
	}
	a.stock -= n
	a.sold += n
	return true
}

// session is what a visitor has put into the basket.
type session struct {
	user string
	at   time.Time

	mu     sync.Mutex
	basket map[int]int
	total  int
	visits int
}

func (s *session) put(a *article, n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.basket[a.id] += n
	s.total += n * a.price
	return s.total
}

// empty returns what was in the basket.
func (s *session) empty() (items map[int]int, total int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	items, total = s.basket, s.total
	s.basket, s.total = map[int]int{}, 0
	return items, total
}

type sessions struct {
	mu   sync.RWMutex
	all  map[string]*session
	next int
}

func (s *sessions) open(user string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	key := user + "-" + strconv.Itoa(s.next)
	s.all[key] = &session{user: user, at: time.Now(), basket: map[int]int{}}
	return key
}

func (s *sessions) get(r *http.Request) *session {
	s.mu.RLock()
	found := s.all[r.Header.Get("Session")]
	s.mu.RUnlock()
	if found != nil {
		found.mu.Lock()
		found.visits++
		found.mu.Unlock()
	}
	return found
}

// cache keeps pages that were used last.
type cache struct {
	mu      sync.Mutex
	pages   map[string]*list.Element
	order   *list.List
	most    int
	hits    int
	renders int
}

type page struct {
	name string
	body []byte
}

func (c *cache) get(name string, render func() []byte) []byte {
	c.mu.Lock()
	if e := c.pages[name]; e != nil {
		c.order.MoveToFront(e)
		c.hits++
		c.mu.Unlock()
		return e.Value.(*page).body
	}
	c.mu.Unlock()
	body := render()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.renders++
	if c.pages[name] == nil {
		c.pages[name] = c.order.PushFront(&page{name, body})
		if c.order.Len() > c.most {
			last := c.order.Back()
			delete(c.pages, last.Value.(*page).name)
			c.order.Remove(last)
		}
	}
	return body
}

// statistics are counted by all handlers.
type statistics struct {
	requests, failures atomic.Int64

	mu    sync.Mutex
	paths map[string]*timing
}

type timing struct {
	count   int
	buckets [8]int
	longest time.Duration
}

func (s *statistics) add(path string, took time.Duration) {
	s.requests.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.paths[path]
	if t == nil {
		t = &timing{}
		s.paths[path] = t
	}
	t.count++
	t.longest = max(t.longest, took)
	bucket := 0
	for limit := 10 * time.Microsecond; took > limit && bucket < len(t.buckets)-1; limit *= 4 {
		bucket++
	}
	t.buckets[bucket]++
}

// order is paid by a handler and written by a worker, who answers the handler.
type order struct {
	user  string
	items map[int]int
	total int
	done  chan *invoice
}

type invoice struct {
	number int
	lines  []string
	sum    uint32
}

// office has the workers that write invoices.
type office struct {
	orders  chan *order
	workers sync.WaitGroup
	shop    *shop

	mu     sync.Mutex
	number int
}

func (o *office) work() {
	defer o.workers.Done()
	for next := range o.orders {
		inv := &invoice{}
		for id, n := range next.items {
			a := o.shop.articles[id]
			inv.lines = append(inv.lines, fmt.Sprintf("%3d x %-12s %8d", n, a.name, n*a.price))
		}
		for _, line := range inv.lines {
			for i := range line {
				inv.sum = inv.sum*31 + uint32(line[i])
			}
		}
		o.mu.Lock()
		o.number++
		inv.number = o.number
		o.mu.Unlock()
		next.done <- inv
	}
}

// shop is the server.
type shop struct {
	articles []*article
	sessions sessions
	pages    cache
	stats    statistics
	office   *office
}

func newShop(articles, workers int) *shop {
	s := &shop{
		sessions: sessions{all: map[string]*session{}},
		pages:    cache{pages: map[string]*list.Element{}, order: list.New(), most: articles / 2},
		stats:    statistics{paths: map[string]*timing{}},
	}
	words := strings.Fields("small large red green blue light heavy round flat wooden iron glass old new cheap fine")
	for i := range articles {
		s.articles = append(s.articles, &article{id: i, name: fmt.Sprint("article ", i), price: 10 + i%90, words: words[i%8 : i%8+8], stock: 1000})
	}
	s.office = &office{orders: make(chan *order, 16), shop: s}
	for range workers {
		s.office.workers.Add(1)
		go s.office.work()
	}
	return s
}

func (s *shop) close() {
	close(s.office.orders)
	s.office.workers.Wait()
}

func (s *shop) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /login", s.login)
	mux.HandleFunc("GET /article/{id}", s.show)
	mux.HandleFunc("POST /basket/{id}", s.put)
	mux.HandleFunc("POST /pay", s.pay)
	return s.counted(mux)
}

func (s *shop) counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		next.ServeHTTP(w, r)
		path, _, _ := strings.Cut(r.URL.Path[1:], "/")
		s.stats.add(path, time.Since(start))
	})
}

func (s *shop) fail(w http.ResponseWriter, text string) {
	s.stats.failures.Add(1)
	http.Error(w, text, http.StatusBadRequest)
}

func (s *shop) article(r *http.Request) *article {
	id, err := strconv.Atoi(r.PathValue("id"))
	if err != nil || id < 0 || id >= len(s.articles) {
		return nil
	}
	return s.articles[id]
}

func (s *shop) login(w http.ResponseWriter, r *http.Request) {
	user, err := io.ReadAll(r.Body)
	if err != nil || len(user) == 0 {
		s.fail(w, "who is it?")
		return
	}
	io.WriteString(w, s.sessions.open(string(user)))
}

func (s *shop) show(w http.ResponseWriter, r *http.Request) {
	a := s.article(r)
	if a == nil {
		s.fail(w, "no such article")
		return
	}
	w.Write(s.pages.get(a.name, a.render))
}

// render makes the page of an article.
func (a *article) render() []byte {
	var page bytes.Buffer
	fmt.Fprintf(&page, "<h1>%s</h1><p>%d</p>", a.name, a.price)
	scores := make([]int, len(a.words))
	for i, word := range a.words {
		for j := range word {
			scores[i] = scores[i]*7 + int(word[j]-'a')
		}
		scores[i] %= 1000
	}
	for i, word := range a.words {
		fmt.Fprintf(&page, "<li>%s %d</li>", word, scores[i])
	}
	return page.Bytes()
}

func (s *shop) put(w http.ResponseWriter, r *http.Request) {
	visitor, a := s.sessions.get(r), s.article(r)
	if visitor == nil || a == nil {
		s.fail(w, "no session, or no such article")
		return
	}
	if !a.take(1) {
		s.fail(w, "sold out")
		return
	}
	json.NewEncoder(w).Encode(map[string]int{"total": visitor.put(a, 1)})
}

func (s *shop) pay(w http.ResponseWriter, r *http.Request) {
	visitor := s.sessions.get(r)
	if visitor == nil {
		s.fail(w, "no session")
		return
	}
	o := &order{user: visitor.user, done: make(chan *invoice, 1)}
	o.items, o.total = visitor.empty()
	s.office.orders <- o
	inv := <-o.done
	fmt.Fprintf(w, "%d %d\n", inv.number, o.total)
	for _, line := range inv.lines {
		io.WriteString(w, line)
	}
}

// visitor is a client. Its goroutine alone has it.
type visitor struct {
	client  *http.Client
	name    string
	session string
	random  uint32
	paid    int
	bytes   int
}

func (v *visitor) next(n int) int {
	v.random = v.random*1664525 + 1013904223
	return int(v.random>>16) % n
}

func (v *visitor) ask(method, path, body string) (string, error) {
	r, err := http.NewRequest(method, "http://shop/"+path, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	r.Header.Set("Session", v.session)
	answer, err := v.client.Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = errors.New(string(text))
	}
	v.bytes += len(text)
	return string(text), err
}

// visit makes requests.
func (v *visitor) visit(requests, articles int) (err error) {
	if v.session, err = v.ask("POST", "login", v.name); err != nil {
		return err
	}
	for i := range requests {
		id := strconv.Itoa(v.next(articles))
		switch {
		case i%10 == 9:
			_, err = v.ask("POST", "pay", "")
			v.paid++
		case i%3 == 2:
			_, err = v.ask("POST", "basket/"+id, "")
		default:
			_, err = v.ask("GET", "article/"+id, "")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func run(requests int) error {
	const visitors, articles = 8, 200
	s := newShop(articles, 4)
	listener := newPipes()
	server := &http.Server{Handler: s.handler()}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	client := &http.Client{Transport: &http.Transport{DialContext: listener.dial, MaxIdleConnsPerHost: visitors}}
	var all sync.WaitGroup
	errs := make(chan error, visitors)
	paid := make(chan int, visitors)
	for i := range visitors {
		v := &visitor{client: client, name: "visitor" + strconv.Itoa(i), random: uint32(i)}
		all.Go(func() {
			errs <- v.visit(requests/visitors, articles)
			paid <- v.paid
		})
	}
	all.Wait()
	sum := 0
	for range visitors {
		if err := <-errs; err != nil {
			return err
		}
		sum += <-paid
	}
	if err := server.Close(); err != nil {
		return err
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	s.close()
	fmt.Println("answered", s.stats.requests.Load(), "requests, failed", s.stats.failures.Load(), "paid", sum)
	return nil
}

func main() {
	n := flag.Int("n", 20_000, "`requests`")
	flag.Parse()
	if err := run(*n); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}
