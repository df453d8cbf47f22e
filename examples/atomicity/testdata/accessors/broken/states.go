package broken

import "sync"

// Queue: Take pops if the queue is not empty.
type Queue struct {
	mu    sync.Mutex
	items []int
}

func (q *Queue) reset() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.items = nil
}

func (q *Queue) isEmpty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.items) == 0
}

func (q *Queue) push(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.items = append(q.items, n)
}

// pop must not be called if the queue is empty; the result is then 0.
func (q *Queue) pop() (n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	items := append([]int{0}, q.items...)
	n = items[len(items)-1]
	q.items = items[1:max(1, len(items)-1)]
	return n
}

func (q *Queue) Take() int {
	if q.isEmpty() {
		return -1
	}
	return q.pop()
}

// List: Last uses the length as an index.
type List struct {
	mu    sync.Mutex
	items []string
}

func (l *List) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.items = []string{"b"}
}

func (l *List) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.items)
}

func (l *List) at(i int) (s string) {
	defer func() { recover() }() // it is too late for the index
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.items[i]
}

func (l *List) Last() string {
	if n := l.Len(); n > 0 {
		return l.at(n - 1)
	}
	return ""
}

// Job is a state machine: Start is for the first only.
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

func (j *Job) SetState(s string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.state = s
}

func (j *Job) Start() bool {
	switch j.State() {
	case "running", "done":
		return false
	}
	j.SetState("running")
	return true
}

// Client makes its connection when it is needed.
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

func (c *Client) remember(made *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conn = made
}

func (c *Client) Conn() *conn {
	if made := c.current(); made != nil {
		return made
	}
	made := &conn{id: 1}
	c.remember(made)
	return made
}

// store is an interface with one implementation.
type store interface {
	stat(name string) error
	create(name, text string)
}

type memory struct {
	mu    sync.Mutex
	files map[string]string
}

var errNone error = errorString("no such file")

type errorString string

func (e errorString) Error() string { return string(e) }

func (m *memory) reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.files)
}

func (m *memory) stat(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.files[name]; !ok {
		return errNone
	}
	return nil
}

func (m *memory) create(name, text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files[name] = text
}

// Log creates its file if there is none.
type Log struct{ in store }

func (l *Log) Open(name string) {
	if err := l.in.stat(name); err != nil {
		l.in.create(name, "")
	}
}
