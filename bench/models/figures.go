// Package models has models of the programs in papers, for tests and benchmarks of package
// racefuzz.
package models

import "github.com/heisen-go/heisen/racefuzz"

// Figure1 is figure 1 of Sen: Race Directed Random Testing of Concurrent Programs (PLDI 2008): a
// program with a real race. The places are the statement numbers. Statements 5 and 7 race; the
// program fails the assertion ERROR1 if 7 comes first. Statements 1 and 10 do not race.
func Figure1(g *racefuzz.G) {
	x, y, z, l := g.NewVar("x"), g.NewVar("y"), g.NewVar("z"), g.NewMutex("L")
	g.Go("thread1", func(g *racefuzz.G) {
		x.Write(g.At("1"), 1)
		l.Lock(g.At("2"))
		y.Write(g.At("3"), 1)
		l.Unlock(g.At("4"))
		if z.Read(g.At("5")) == 1 {
			g.Assert(false, "ERROR1")
		}
	})
	g.Go("thread2", func(g *racefuzz.G) {
		z.Write(g.At("7"), 1)
		l.Lock(g.At("8"))
		if y.Read(g.At("9")) == 1 {
			if x.Read(g.At("10")) != 1 {
				g.Assert(false, "ERROR2")
			}
		}
		l.Unlock(g.At("14"))
	})
}

// Figure2 is figure 2 of the same paper: a program with a race that is hard to reproduce. The
// parameter is the number of statements before statement 8, at least 2. Statements 8 and 10 race;
// the program fails the assertion ERROR if 8 comes first.
func Figure2(before int) racefuzz.Program {
	return func(g *racefuzz.G) {
		x, l, f := g.NewVar("x"), g.NewMutex("L"), g.NewVar("f")
		g.Go("thread1", func(g *racefuzz.G) {
			l.Lock(g.At("1"))
			for range before - 2 {
				f.Read(g)
			}
			l.Unlock(g.At("7"))
			if x.Read(g.At("8")) == 0 {
				g.Assert(false, "ERROR")
			}
		})
		g.Go("thread2", func(g *racefuzz.G) {
			x.Write(g.At("10"), 1)
			l.Lock(g.At("11"))
			f.Read(g)
			l.Unlock(g.At("13"))
		})
	}
}
