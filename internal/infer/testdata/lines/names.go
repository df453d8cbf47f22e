package lines

import "sync/atomic"

type S struct {
	a, b int
	s    []int
	m    map[string]int
	e    any
	n    *S
}

var g, h int
var gs []int
var gp *S
var gm map[string]int
var ge any
var gf func(int) int

//go:noinline
func f(int, int) int { return 1 }

//go:noinline
func f2(int, int) int { return 1 }

func A(s *S, ks string) int {
	f(
		1,
		g)
	f2(
		1,
		g)
	f2(
		g+
			1,
		2)
	x := S{
		a: g,
		b: s.
			a,
	}
	y := &S{
		a: g,
	}
	gs =
		append(
			gs,
			g)
	gs[g] =
		3
	_ = gs[g]
	s.a =
		g
	g =
		-g
	g =
		h
	if 0 < g ||
		g > 0 ||
		0 <
			h {
	}
	switch {
	case
		g == 3:
	}
	switch g {
	case 4:
		h = 1
	}
	for i := range s.
		s {
		_ = i
	}
	for i, v := range s.
		s {
		_ = i
		_ = v
	}
	for i, v := range s.n.
		m {
		_ = i
		_ = v
	}
	var v,
		ok = gm[ks]
	_, _ = v, ok
	if len(
		gs) >
		3 {
	}
	w, ok :=
		ge.(int)
	_ = w
	ge = s.
		e
	gf(
		1)
	gp.
		a++
	gp.
		n.
		a++
	z := gs[1:g]
	_ = z
	go f2(
		g,
		1)
	defer f2(
		1,
		g)
	*(s) =
		S{
			a: 1,
		}
	s.n, s.m =
		gp, map[string]int{
			ks: g,
		}
	g = g +
		1
	g, h =
		h,
		g
	atomic.AddInt64((*int64)(nil),
		int64(
			g))
	func() {
		g++
	}()
	copy(
		s.s,
		gs)
	_ = min(
		g,
		h)
	if ok && (g == 3 ||
		h == 4) {
	}
	_, _ = x, y
	return x.a +
		(g)
}

func B(c chan int) (int, int) {
	c <- g
	select {
	case c <- g:
	case g = <-c:
	}
	return 1,
		g
}

func C(c chan int) (n int) {
	go func() {
		n++
	}()
	if len(
		c) > 3 {
	}
	return n
}
func D(c chan int) bool {
	if g == 1 {
		g = 3
	}
	return g != 3 &&
		h != 2
}
func E(c chan int) *int {
	var n int
	var q, r = 1,
		2
	go func() {
		n++
		q++
		r++
	}()
	n =
		g
	return &n
}

func more(s *S, b bool) []int {
	if (h) > 3 {
		return []int{
			g,
			h + 1,
			s.
				a,
		}
	}
	for h <
		g {
		h++
	}
	if ready {
		ready =
			!ready
	}
	if b &&
		ready {
		s.b = 1
	}
	switch {
	case ready:
		s.a = 2
	}
	for ready {
		g = len(
			gs[g:])
	}
	if !ready {
		panic(
			g)
	}
	x := [2]int{
		1,
		g,
	}
	s.s[0], gm["x"] =
		x[1],
		g
	s.s[0],
		s.s[1] = s.s[1],
		s.s[0]
	s.n.n.
		a = s.n.
		n.a
	box(
		1,
		g,
		s.
			a,
		h,
	)
	switch g {
	case 1,
		h:
	}
	if v := g; v > 3 {
		g = v
	}
	return append(
		s.s,
		g,
	)
}

var ready bool

//go:noinline
func box(a any, more ...any) {}
