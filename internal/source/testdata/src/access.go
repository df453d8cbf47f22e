// Package src has accesses of every shape. A comment "want" names the variables that fit each kind of
// access on that line, the likeliest first.
package src

type B struct {
	n  int
	m  map[string]int
	s  []int
	fn func(int) int
	a  [4]int
}

type A struct {
	b  *B
	v  B
	ch chan int
	B2
}

type B2 struct{ deep int }

var (
	total  int
	table  = map[string]*B{}
	list   []int
	grid   [3][3]int
	queue  chan int
	hook   func()
	global B
)

func (b B) value() int    { return b.n }
func (b *B) pointer() int { return b.n } // want read=b.n

func fields(a *A, amount int) {
	a.v.n = 1            // want write=a.v.n
	a.b.n += amount      // want read=a.b.n | a.b write=a.b.n
	a.v.n++              // want read=a.v.n write=a.v.n
	a.deep--             // want read=a.deep write=a.deep
	a.b = nil            // want write=a.b
	_ = a.b.n            // want read=a.b.n | a.b
	a.v, total = *a.b, 3 // want read=*a.b | a.b write=a.v | total
	(a.v.n) = (a.b).n    // want read=(a.b).n | a.b write=a.v.n
	*a.b = B{n: total}   // want write=*a.b read=total | a.b
}

func pointers(p *int, pp **int, k int) int {
	*p = 1      // want write=*p
	*p += 2     // want write=*p read=*p
	**pp = *p   // want write=**pp read=*p | *pp
	if *p > k { // want read=*p
		return *p + k // want read=*p
	}
	return 0 // want
}

func elements(a *A, s []int, arr *[4]int, i int, key string) {
	s[i] = s[i+1]                     // want write=s[i] read=s[i + 1]
	arr[2]++                          // want write=arr[2] read=arr[2]
	grid[i][i] = 1                    // want write=grid[i][i]
	a.v.a[i] = 7                      // want write=a.v.a[i]
	a.b.m[key] = 1                    // want write=a.b.m read=a.b.m | a.b
	table[key].n = 2                  // want write=table[key].n read=table
	_, ok := table[key]               // want read=table
	delete(a.b.m, key)                // want write=a.b.m
	clear(a.b.s)                      // want write=a.b.s read=a.b.s | a.b
	list = append(list, i)            // want write=list read=list
	a.b.s = append(a.b.s, list...)    // want write=a.b.s read=a.b.s | list | a.b
	copy(a.b.s, list)                 // want write=a.b.s read=list | a.b.s | a.b
	_ = len(list)                     // want read=list
	_ = a.b.s[1:total]                // want read=a.b.s | total | a.b
	list[len(list)-1], list[0] = 1, i // want write=list[len(list) - 1] | list[0]
	_ = ok
}

func channels(a *A) {
	queue <- total // want read=queue | total
	<-a.ch         // want read=a.ch send=a.ch
	close(a.ch)    // want write=a.ch
	_ = len(a.ch)  // want read=a.ch
	select {
	case v := <-queue: // want read=queue receive=queue
		total = v // want write=total
	case a.ch <- 1: // want read=a.ch
	default:
	}
}

func referents(m map[int]int, ch chan int, s []int) {
	m[1] = 2      // want write=m
	_ = m[2]      // want read=m
	for range m { // want read=m
	}
	for range ch { // want read=ch receive=ch
	}
	_, _ = len(m), len(s) // want read=m
	close(ch)             // want write=ch send=ch
	s = append(s, 1)      // want write=s
	for _, v := range s { // want read=s
		_ = v
	}
}

func loops(a *A) {
	for total = range 10 { // want write=total
	}
	for i, v := range a.b.s { // want read=a.b.s | a.b
		total += i * v // want write=total read=total
	}
	for a.v.n = 0; a.v.n < 10; a.v.n++ { // want write=a.v.n read=a.v.n
	}
	for k := range table { // want read=table
		_ = k
	}
	switch total { // want read=total
	case a.v.n: // want read=a.v.n
	}
	if x := a.b.n; x > 2 { // want read=a.b.n | a.b
		global.n = x // want write=global.n
	} else if global.n > 3 { // want read=global.n
		return
	}
}

func closures() func() {
	count, same := 0, 1 // want write=count
	local := 3          // want
	local++             // want
	var other int
	p := &other             // want
	go func() { count++ }() // want write=count read=count
	go func() {
		_ = same      // want
		count += same // want write=count read=count
		other = *p    // want write=other read=*p
	}()
	func() { func() { count = same }() }() // want write=count
	defer func() { hook = nil }()          // want write=hook
	return func() { total = count }        // want write=total read=count
}

func calls(a *A, f func(...int) int) {
	f(total, 3)                // want read=total
	_ = a.v.value()            // want read=a.v
	_ = a.b.value()            // want read=*a.b | a.b
	_ = a.b.pointer()          // want read=a.b
	_ = a.b.fn(3)              // want read=a.b.fn | a.b
	hook()                     // want read=hook
	m := a.b.value             // want read=a.b
	_ = any(total)             // want read=total
	_ = int64(a.v.n)           // want read=a.v.n
	go calls(table["x"].up(a)) // want read=table
	_ = m
}

func (b *B) up(a *A) (*A, func(...int) int) { return a, nil }

func lines(a *A, p *int, f func(...int) int) *B {
	a.b. // want read=a.b
		n = f( // want write=a.b.n
		a.v.n, // want read=a.v.n
		*p,    // want read=*p
		total, // want read=total
	)
	a.b.m["k"] = // want write=a.b.m
		a.b.m["z"] + // want read=a.b.m | a.b
			a.v.s[3] // want read=a.v.s[3] | a.v.s
	a.v = B{ // want write=a.v
		n: total, // want read=total write=B{…}
		s: nil,
	}
	a.b.s = append( // want write=a.b.s
		a.b.s, // want read=a.b.s | a.b
		*p)    // want read=*p write=a.b.s
	if a.v.n > 3 && // want read=a.v.n
		global.n < 4 { // want read=global.n
		total++ // want write=total
	}
	return &B{ // want write=B{…}
		n: *p, // want write=B{…} read=*p
	}
}

var first = total + len(list) // want write=first read=total | list
