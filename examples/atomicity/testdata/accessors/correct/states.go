package correct

import "sync"

// Queue: Take holds the lock.
type Queue struct {
	mu    sync.Mutex
	items []int
}

func (q *Queue) reset() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.items = nil
}

func (q *Queue) isEmpty() bool { return len(q.items) == 0 }

func (q *Queue) push(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.items = append(q.items, n)
}

func (q *Queue) pop() (n int) {
	n = q.items[len(q.items)-1]
	q.items = q.items[:len(q.items)-1]
	return n
}

func (q *Queue) Take() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.isEmpty() {
		return -1
	}
	return q.pop()
}

// List: Last holds the lock.
type List struct {
	mu    sync.Mutex
	items []string
}

func (l *List) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.items = []string{"b"}
}

func (l *List) size() int { return len(l.items) }

func (l *List) at(i int) string { return l.items[i] }

func (l *List) Last() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := l.size(); n > 0 {
		return l.at(n - 1)
	}
	return ""
}

// Job is a state machine: change does both.
type Job struct {
	mu    sync.Mutex
	state string
}

func (j *Job) reset() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.state = ""
}

func (j *Job) State() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.state
}

func (j *Job) change(from, to string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.state != from {
		return false
	}
	j.state = to
	return true
}

func (j *Job) Start() bool { return j.change("", "running") }

// Client makes its connection when it is needed. It looks again under the lock.
type Client struct {
	mu   sync.Mutex
	conn *conn
}

type conn struct{ id int }

func (c *Client) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conn = nil
}

func (c *Client) current() *conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.conn
}

func (c *Client) Conn() *conn {
	if made := c.current(); made != nil {
		return made
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == nil {
		c.conn = &conn{id: 1}
	}
	return c.conn
}

// store is an interface with one implementation.
type store interface{ createNew(name, text string) bool }

type memory struct {
	mu    sync.Mutex
	files map[string]string
}

func (m *memory) reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.files)
}

func (m *memory) stat(name string) bool {
	_, ok := m.files[name]
	return ok
}

func (m *memory) create(name, text string) { m.files[name] = text }

func (m *memory) createNew(name, text string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stat(name) {
		return false
	}
	m.create(name, text)
	return true
}

// Log creates its file if there is none.
type Log struct{ in store }

func (l *Log) Open(name string) { l.in.createNew(name, "") }
