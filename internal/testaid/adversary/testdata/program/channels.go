package adversary

import (
	"reflect"
	"runtime"
	"sync"
	"time"
)

// pingPong passes a pointer to and fro.
//
//adversary:fragment bubble
func pingPong(r *run) {
	to, fro := make(chan *int, r.n(0, 1)), make(chan *int)
	times := r.n(1, 5)
	go func() {
		for p := range to {
			*p++
			fro <- p
		}
		close(fro)
	}()
	n := 0
	for range times {
		to <- &n
		p := <-fro
		*p *= 2
	}
	close(to)
	_, open := <-fro
	check(r, open, false, "the answer to close")
	check(r, n, 1<<(times+1)-2, "a number that went to and fro")
}

// pipeline squares and sums in stages.
//
//adversary:fragment bubble
func pipeline(r *run) {
	stage := func(in <-chan int, do func(int) int) <-chan int {
		out := make(chan int, r.n(0, 2))
		go func() {
			defer close(out)
			for v := range in {
				out <- do(v)
			}
		}()
		return out
	}
	source := make(chan int)
	n := r.n(1, 5)
	go func() {
		defer close(source)
		for i := range n {
			source <- i
		}
	}()
	sum := 0
	for v := range stage(stage(source, func(v int) int { return v * v }), func(v int) int { return v + 1 }) {
		sum += v
	}
	check(r, sum, n+(n-1)*n*(2*n-1)/6, "sum of a pipeline")
}

// fanIn merges several channels, of elements of several sizes.
//
//adversary:fragment bubble
func fanIn(r *run) {
	type large struct {
		text  string
		words [9]int
	}
	bound := r.n(0, 3)
	larges, empties, errs := make(chan large, bound), make(chan struct{}, bound), make(chan error)
	times := r.n(1, 3)
	var all sync.WaitGroup
	all.Go(func() {
		for i := range times {
			larges <- large{"x", [9]int{8: i}}
		}
	})
	all.Go(func() {
		for range times {
			empties <- struct{}{}
		}
	})
	all.Go(func() { errs <- nil })
	sum, seen := 0, 0
	for range 2*times + 1 {
		select {
		case l := <-larges:
			sum += l.words[8]
			check(r, l.text, "x", "text of a large element")
		case <-empties:
			seen++
		case err, ok := <-errs:
			no(r, err, "error of a channel")
			check(r, ok, true, "an open channel")
		}
	}
	all.Wait()
	check(r, sum, times*(times-1)/2, "sum of large elements")
	check(r, seen, times, "empty elements")
}

// closeBroadcast releases many waiters by close.
//
//adversary:fragment bubble
func closeBroadcast(r *run) {
	begin, value := make(chan struct{}), 0
	var all sync.WaitGroup
	for range r.n(2, 4) {
		all.Go(func() {
			select {
			case <-begin:
			case <-make(chan int):
			}
			check(r, value, 9, "what close publishes")
		})
	}
	value = 9
	close(begin)
	all.Wait()
	_, ok := <-begin
	check(r, ok, false, "a receive from a closed channel")
}

// selectBoth sends and receives in one select until all has gone both ways.
//
//adversary:fragment bubble
func selectBoth(r *run) {
	a, b := make(chan int, r.n(0, 1)), make(chan int)
	times := r.n(1, 4)
	meet := func(in, out chan int) int {
		sum := 0
		for sent, got := 0, 0; sent < times || got < times; {
			to, from := out, in
			if sent == times {
				to = nil
			}
			if got == times {
				from = nil
			}
			select {
			case to <- sent + 1:
				sent++
			case v := <-from:
				sum += v
				got++
			}
		}
		return sum
	}
	other := make(chan int, 1)
	go func() { other <- meet(b, a) }()
	check(r, meet(a, b), times*(times+1)/2, "one side of a select")
	check(r, <-other, times*(times+1)/2, "the other side of a select")
}

// selectPolls polls with a default case.
//
//adversary:fragment bubble
func selectPolls(r *run) {
	c := make(chan int)
	go func() { c <- 5 }()
	for {
		select {
		case v := <-c:
			check(r, v, 5, "a value that was polled for")
			return
		default:
			runtime.Gosched()
		}
	}
}

// selectTimeout arms a long timeout, which must not fire.
//
//adversary:fragment bubble
func selectTimeout(r *run) {
	c := make(chan int)
	go func() {
		time.Sleep(time.Duration(r.n(0, 1)) * time.Microsecond)
		c <- 1
	}()
	timeout := time.NewTimer(time.Hour)
	defer timeout.Stop()
	select {
	case <-c:
	case <-timeout.C:
		r.Errorf("an hour has passed")
	}
}

// channelLock uses a channel as a lock, and one as a semaphore.
//
//adversary:fragment bubble
func channelLock(r *run) {
	lock, places := make(chan struct{}, 1), make(chan int, 2)
	n, count := 0, r.n(2, 4)
	var all sync.WaitGroup
	for i := range count {
		all.Go(func() {
			places <- i
			defer func() { <-places }()
			lock <- struct{}{}
			n++
			<-lock
		})
	}
	all.Wait()
	check(r, n, count, "increments under a channel")
	check(r, len(places), 0, "places that are taken")
	check(r, cap(places), 2, "places")
}

// requests are answered by a server through a channel in the request.
//
//adversary:fragment bubble
func requests(r *run) {
	type request struct {
		key   string
		reply chan int
	}
	server, stopped := make(chan request), make(chan struct{})
	go func() {
		defer close(stopped)
		counts := map[string]int{}
		for q := range server {
			counts[q.key]++
			q.reply <- counts[q.key]
		}
	}()
	var all sync.WaitGroup
	for range r.n(1, 3) {
		all.Go(func() {
			reply := make(chan int, 1)
			server <- request{"a", reply}
			if got := <-reply; got < 1 || got > 3 {
				r.Errorf("answer %d", got)
			}
		})
	}
	all.Wait()
	close(server)
	<-stopped
}

// reflectedSelect selects among cases that are made at run time.
//
//adversary:fragment bubble
func reflectedSelect(r *run) {
	n := r.n(1, 4)
	var cases []reflect.SelectCase
	for i := range n {
		c := make(chan int, i%2)
		go func() {
			c <- i
			close(c)
		}()
		cases = append(cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(c)})
	}
	sum := 0
	for open := n; open > 0; {
		i, v, ok := reflect.Select(cases)
		if !ok {
			cases[i].Chan = reflect.Value{}
			open--
			continue
		}
		sum += int(v.Int())
	}
	check(r, sum, n*(n-1)/2, "sum of reflect.Select")
	c := reflect.MakeChan(reflect.TypeFor[chan string](), 1)
	c.Send(reflect.ValueOf("x"))
	check(r, c.TrySend(reflect.ValueOf("y")), false, "TrySend to a full channel")
	v, _ := c.Recv()
	check(r, v.String(), "x", "Recv")
}

// workers share a queue of functions.
//
//adversary:fragment bubble
func workers(r *run) {
	jobs, results := make(chan func() int), make(chan int, r.n(0, 2))
	var all sync.WaitGroup
	for range r.n(1, 3) {
		all.Go(func() {
			for job := range jobs {
				results <- job()
			}
		})
	}
	n := r.n(1, 5)
	go func() {
		for i := range n {
			jobs <- func() int { return i * i }
		}
		close(jobs)
		all.Wait()
		close(results)
	}()
	sum := 0
	for v := range results {
		sum += v
	}
	check(r, sum, (n-1)*n*(2*n-1)/6, "sum of jobs")
}

// turns lets goroutines print in turn, each through a channel of its own.
//
//adversary:fragment bubble
func turns(r *run) {
	n, rounds := r.n(2, 3), r.n(1, 3)
	gates := make([]chan bool, n)
	for i := range gates {
		gates[i] = make(chan bool, 1)
	}
	var order []int
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			for range rounds {
				<-gates[i]
				order = append(order, i)
				gates[(i+1)%n] <- true
			}
		})
	}
	gates[0] <- true
	all.Wait()
	for k, i := range order {
		check(r, i, k%n, "whose turn it is")
	}
	check(r, len(order), n*rounds, "turns")
}

// recoveredChannels recovers from panics of close and send.
//
//adversary:fragment bubble
func recoveredChannels(r *run) {
	c := make(chan int, 1)
	close(c)
	panics := func(f func()) (text string) {
		defer func() { text = recover().(error).Error() }()
		f()
		return ""
	}
	check(r, panics(func() { close(c) }), "close of closed channel", "close again")
	check(r, panics(func() { c <- 1 }), "send on closed channel", "send to a closed channel")
	check(r, panics(func() { close((chan int)(nil)) }), "close of nil channel", "close of nil")
}
