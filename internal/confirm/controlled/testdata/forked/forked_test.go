package forked

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unique"
	"weak"
)

func each(n int, do func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { do(i) })
	}
	wg.Wait()
}

func TestCounter(t *testing.T) {
	n := 0
	var mu sync.Mutex
	each(3, func(int) {
		for range 4 {
			mu.Lock()
			v := n
			mu.Unlock()
			mu.Lock()
			n = v + 1
			mu.Unlock()
		}
	})
	t.Log(n)
}

func TestRace(t *testing.T) {
	n := 0
	each(3, func(i int) { n += i })
	t.Log(n)
}

func TestAtomics(t *testing.T) {
	var n, failed atomic.Int64
	each(3, func(int) {
		for range 5 {
			if v := n.Load(); !n.CompareAndSwap(v, v+1) {
				failed.Add(1)
			}
		}
	})
	t.Log(n.Load(), failed.Load())
}

func TestPingPong(t *testing.T) {
	a, b := make(chan int), make(chan int)
	go func() {
		for v := range a {
			b <- v + 1
		}
		close(b)
	}()
	go func() {
		defer close(a)
		for i := range 8 {
			a <- i
		}
	}()
	for v := range b {
		t.Log(v)
	}
}

func TestSelect(t *testing.T) {
	a, b, done := make(chan int, 1), make(chan int, 1), make(chan struct{})
	go func() {
		defer close(done)
		for range 6 {
			select {
			case a <- 1:
			case b <- 2:
			}
		}
	}()
	for sum := 0; ; {
		select {
		case v := <-a:
			sum += v
		case v := <-b:
			sum += v
		case <-done:
			t.Log(sum)
			return
		}
	}
}

func TestTimers(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	var n atomic.Int64
	each(3, func(i int) {
		tick := time.NewTicker(time.Duration(70+i) * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				n.Add(1)
			case <-ctx.Done():
				return
			}
		}
	})
	t.Log(n.Load(), time.Now())
}

func TestSleep(t *testing.T) {
	start := time.Now()
	each(3, func(i int) { time.Sleep(time.Duration(i) * time.Second) })
	t.Log(time.Since(start))
}

func TestAfterFunc(t *testing.T) {
	done := make(chan int, 3)
	for i := range 3 {
		time.AfterFunc(time.Minute, func() { done <- i })
	}
	t.Log(<-done, <-done, <-done)
}

func TestDeadline(t *testing.T) {
	ctx, cancel := context.WithDeadlineCause(t.Context(), time.Now().Add(time.Hour), errors.New("late"))
	defer cancel()
	stop := context.AfterFunc(ctx, func() {})
	<-ctx.Done()
	t.Log(context.Cause(ctx), stop())
}

func TestMaps(t *testing.T) {
	m := map[int]int{}
	var mu sync.Mutex
	each(3, func(i int) {
		for k := range 20 {
			mu.Lock()
			m[k*10+i] = k
			mu.Unlock()
		}
	})
	for k := range m {
		t.Log(k)
		if k%7 == 0 {
			break
		}
	}
	for w := range counts {
		t.Log(w)
	}
}

func TestPointerKeys(t *testing.T) {
	m := map[*int]int{}
	for i := range 20 {
		m[new(int)] = i
	}
	t.Log(slices.Collect(maps.Values(m)))
}

func TestSyncMap(t *testing.T) {
	var m sync.Map
	each(3, func(i int) {
		for k := range 5 {
			m.LoadOrStore(k, i)
		}
	})
	m.Range(func(k, v any) bool { t.Log(k, v); return true })
}

func TestRandom(t *testing.T) {
	each(2, func(int) { t.Log(rand.IntN(1000), rand.Perm(5)) })
}

func TestPool(t *testing.T) {
	made := atomic.Int64{}
	p := sync.Pool{New: func() any { made.Add(1); return new(bytes.Buffer) }}
	each(3, func(i int) {
		for range 5 {
			b := p.Get().(*bytes.Buffer)
			fmt.Fprint(b, i)
			runtime.Gosched()
			p.Put(b)
		}
	})
	t.Log(made.Load())
}

func TestOnce(t *testing.T) {
	var once sync.Once
	value := sync.OnceValue(func() int { return 7 })
	each(3, func(i int) { once.Do(func() { t.Log(i) }); t.Log(value()) })
}

func TestCond(t *testing.T) {
	var mu sync.Mutex
	c := sync.NewCond(&mu)
	ready := 0
	each(3, func(int) {
		mu.Lock()
		defer mu.Unlock()
		if ready++; ready == 3 {
			c.Broadcast()
		}
		for ready < 3 {
			c.Wait()
		}
	})
}

func TestRWMutex(t *testing.T) {
	var mu sync.RWMutex
	n := 0
	each(4, func(i int) {
		if i%2 == 0 {
			mu.Lock()
			n++
			mu.Unlock()
			return
		}
		mu.RLock()
		defer mu.RUnlock()
		t.Log(n)
	})
}

func TestCollections(t *testing.T) {
	each(2, func(int) {
		for range 3 {
			_ = make([]byte, 1<<20)
			runtime.GC()
		}
	})
}

func TestBigHeap(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	var lists [3][]*[64]int
	each(3, func(i int) {
		for k := range 5000 {
			lists[i] = append(lists[i], &[64]int{k})
			if k%1000 == 999 {
				lists[i] = nil
			}
		}
	})
}

func TestFinalizers(t *testing.T) {
	done := make(chan int, 4)
	for i := range 2 {
		p := &[100]int{i}
		runtime.SetFinalizer(p, func(p *[100]int) { done <- p[0] })
		q := &[100]int{i}
		runtime.AddCleanup(q, func(i int) { done <- i }, i)
	}
	runtime.GC()
	for range 4 {
		select {
		case <-done:
		case <-time.After(time.Second):
			t.Log("not yet")
		}
	}
}

func TestWeak(t *testing.T) {
	p := &[100]int{1}
	w := weak.Make(p)
	t.Log(w.Value() == p, unique.Make("a") == unique.Make("a"))
	runtime.GC()
	runtime.KeepAlive(p)
}

func TestMemStats(t *testing.T) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	t.Log(runtime.NumGoroutine(), runtime.NumCPU(), runtime.GOMAXPROCS(0))
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	each(3, func(i int) {
		name := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(name, []byte("text"), 0o600); err != nil {
			t.Error(err)
		}
		text, err := os.ReadFile(name)
		t.Log(len(text), err)
	})
	temp, err := os.CreateTemp("", "x")
	if err != nil {
		t.Fatal(err)
	}
	defer temp.Close()
	t.Log(filepath.Base(temp.Name()))
}

func TestPipe(t *testing.T) {
	r, w := io.Pipe()
	go func() { fmt.Fprintln(w, "line"); w.Close() }()
	text, err := io.ReadAll(r)
	t.Log(string(text), err)
}

func TestOSPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() { fmt.Fprintln(w, "line"); w.Close() }()
	line, err := bufio.NewReader(r).ReadString('\n')
	t.Log(line, err)
	r.Close()
}

func TestTCP(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skip(err)
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err == nil {
			io.Copy(c, c)
			c.Close()
		}
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(c, "line")
	line, err := bufio.NewReader(c).ReadString('\n')
	t.Log(line, err)
	c.Close()
}

func TestHTTP(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "hello") }))
	defer s.Close()
	each(2, func(int) {
		resp, err := s.Client().Get(s.URL)
		if err != nil {
			t.Error(err)
			return
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		t.Log(string(text), err)
	})
}

func TestJSON(t *testing.T) {
	each(2, func(i int) {
		text, err := json.Marshal(map[string]any{"i": i, "words": words})
		t.Log(string(text), err)
	})
}

func TestSubtests(t *testing.T) {
	for i := range 3 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			t.Log(i)
		})
	}
}

func TestProcess(t *testing.T) {
	out, err := exec.Command("/bin/echo", "word").Output()
	t.Log(string(out), err)
}

func TestEnvironment(t *testing.T) {
	t.Setenv("FORKED", "1")
	t.Log(os.Getenv("FORKED"), len(os.Args))
	fmt.Println("to the standard output")
	fmt.Fprintln(os.Stderr, "to the standard error")
}

func TestChdir(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("here", nil, 0o600); err != nil {
		t.Error(err)
	}
}

func TestSignal(t *testing.T) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR1)
	defer signal.Stop(c)
	syscall.Kill(os.Getpid(), syscall.SIGUSR1)
	t.Log(<-c)
}

func TestPanics(t *testing.T) {
	n := 0
	each(2, func(i int) {
		if n++; n == 2 && i == 0 {
			panic("second")
		}
	})
}

func TestDeadlock(t *testing.T) {
	var a, b sync.Mutex
	each(2, func(i int) {
		first, second := &a, &b
		if i == 1 {
			first, second = second, first
		}
		first.Lock()
		second.Lock()
		second.Unlock()
		first.Unlock()
	})
}

func TestLeak(t *testing.T) {
	c := make(chan int)
	go func() { c <- 1 }()
	go func() { c <- 2 }()
	<-c
}

func TestFails(t *testing.T) {
	each(3, func(i int) { t.Error(i) })
}

func TestFailsAndGoesOn(t *testing.T) {
	c := make(chan int)
	for range 2 {
		go func() {
			for {
				select {
				case c <- 1:
				case <-c:
				}
			}
		}()
	}
	each(3, func(i int) { t.Error(i) })
}

func TestExits(t *testing.T) {
	if rand.IntN(2) == 0 {
		os.Exit(3)
	}
}

func TestThreads(t *testing.T) {
	each(3, func(int) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		time.Sleep(time.Millisecond)
	})
}

func TestStacks(t *testing.T) {
	var deep func(n int) int
	deep = func(n int) int {
		if n == 0 {
			return len(debug.Stack())
		}
		return deep(n-1) + 1
	}
	each(2, func(i int) { deep(1000 * (i + 1)) })
}

func ExampleSum() {
	c := make(chan int, 2)
	go func() { c <- 1 }()
	go func() { c <- 2 }()
	fmt.Println(<-c + <-c)
	// Output: 3
}

func FuzzBytes(f *testing.F) {
	f.Add([]byte("x"))
	f.Fuzz(func(t *testing.T, b []byte) { each(2, func(int) { t.Log(len(b)) }) })
}
