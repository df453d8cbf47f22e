// Package lines has accesses in statements on several lines: the more lines the
// better.
package lines

import "sync/atomic"

type V struct {
	a, b int
	m    map[string]int
	s    []int
	in   struct{ x, y int }
	p    *int
	arr  [4]int
	c    chan int
}

func VA(s *V, k string) {
	s.
		m[k] =
		len(
			k)
	s.
		m[k] +=
		2
	var v, ok = s.
		m[k]
	_, _ = v, ok
	for i, e := range s.
		s {
		_ = e
		_ = i
	}
	for i, e := range gs {
		println(i, e)
	}
	for g = range s.
		s {
	}
	for g, s.
		a = range s.
		s {
	}
	println(
		len(
			s.
				m),
		cap(
			s.
				c),
	)
	clear(
		s.
			m)
	close(
		s.
			c)
	*s.
		p =
		*s.
			p +
			1
	x, y := (*s).
		a, (g)
	println(x, y)
	z := s.
		in
	_ = z
	println(z.x)
	s.a, ok =
		<-s.
			c
	if w, ok :=
		s.
			m[k]; ok {
		println(w)
	}
	if gm[k] >
		1 &&
		gm == nil {
		gm[k]++
	}
}

func VB() func() {
	n := 0
	go func() {
		n++
		n =
			n +
				1
	}()
	n +=
		4
	return func() {
		println(
			n)
	}
}

type VE struct{ *V }
type VF struct {
	VE
	q int
}

func VC(f *VF, k []V) {
	f.
		a++
	f.
		VE.
		V.
		b = 3
	k[0].
		a =
		4
	k[0].
		in.
		x +=
		4
	f.s = append(f.s,
		1,
		2)
	gs =
		append(gs,
			f.b)
	(f.
		a) =
		2
	f.arr = [4]int{
		1, 2,
		f.q}
	for i := range f.arr {
		f.arr[i]++
	}
	for i, v := range f.
		arr {
		f.arr[i] = v
	}
	var u = f.
		b
	println(u)
	switch x := f.
		a; x {
	case 3:
		println(x)
	}
	switch f.
		a {
	case
		1,
		2:
		println(1)
	case g:
		println(3)
	}
}

type M struct {
	m  map[string]int
	l  []int
	at atomic.Int64
	n  int64
	in struct{ x, y int }
	p  *M
	f  func(int) int
}

func (s *M) multi(
	k string,
) int64 {
	x := s.
		n +
		s.
			p.
			n
	s.
		m[k] =
		int(x)
	s.m[k]++
	s.l = append(
		s.l,
		int(x),
		s.
			p.
			in.
			x,
	)
	s.
		l[x] +=
		int(x)
	s.
		l[x] =
		s.f(
			s.in.x)
	v, ok :=
		s.m[k]
	_ = ok
	s.in.x,
		s.in.y =
		v,
		s.
			in.x
	delete(
		s.m,
		k)
	if s.
		n >
		s.
			at.
			Load() &&
		len(
			s.l) >
			3 {
		s.
			n++
	}
	s.at.
		Add(
			1)
	s.at.
		Store(s.at.
			Load())
	atomic.
		AddInt64(
			&s.n,
			2)
	s.in =
		struct{ x, y int }{
			int(s.n),
			s.in.y,
		}
	*s.p =
		M{n: 1}
	*s = M{
		n: s.p.n,
		p: nil,
	}
	s.f(
		s.
			in.x)
	return s.get() +
		s.
			get()
}

func (s *M) get() int64 { return s.n }
