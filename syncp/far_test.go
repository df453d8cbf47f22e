package syncp_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/testaid/tier"
	"github.com/heisen-go/heisen/syncp"
)

// far is a bug whose halves are far apart.
type far struct {
	name          string
	first, second func(p *program) // by threads 1 and 2
	between       func(p *program, rng *rand.Rand)
	kind          heisen.Kind
	kept          bool // another order is not possible
}

// program makes a stream.
type program struct {
	records []heisen.Record
}

func (p *program) add(t heisen.Thread, op heisen.Op, o heisen.Object, site heisen.Site) {
	p.records = append(p.records, heisen.Record{Op: op, Thread: t, Object: o, Len: 8, Site: site})
}

// section adds a critical section around some accesses.
func (p *program) section(t heisen.Thread, lock heisen.Object, site heisen.Site, inside ...heisen.Record) {
	p.add(t, heisen.Acquire, lock, site)
	p.records = append(p.records, inside...)
	p.add(t, heisen.Release, lock, site)
}

func accessOf(t heisen.Thread, op heisen.Op, o heisen.Object, site heisen.Site) heisen.Record {
	return heisen.Record{Op: op, Thread: t, Object: o, Len: 8, Site: site}
}

const (
	varX, varY, lockA, lockB, lockC, channel = 8, 16, 1024, 1032, 1040, 2048
	siteX, siteY                             = 901, 902
)

// What happens between the halves.
var (
	own = func(p *program, rng *rand.Rand) { // a thread works on its own memory
		t := heisen.Thread(1 + rng.IntN(3))
		p.add(t, [...]heisen.Op{heisen.Read, heisen.Write}[rng.IntN(2)], heisen.Object(1<<20*int(t)+8*rng.IntN(1000)), 10)
	}
	guarded = func(p *program, rng *rand.Rand) { // others share data under locks
		t, k := heisen.Thread(3+rng.IntN(4)), rng.IntN(20)
		lock, v := heisen.Object(4096+8*k), heisen.Object(8192+8*k)
		p.section(t, lock, 11, accessOf(t, heisen.Read, v, 12), accessOf(t, heisen.Write, v, 13))
	}
	guardedByAll = func(p *program, rng *rand.Rand) { // all share counters under locks, but only blindly
		t, k := heisen.Thread(1+rng.IntN(6)), rng.IntN(20)
		p.section(t, heisen.Object(4096+8*k), 14, accessOf(t, heisen.Write, heisen.Object(8192+8*k), 15))
	}
	messages = func(p *program, rng *rand.Rand) {
		c := heisen.Object(16384 + 8*rng.IntN(8))
		p.add(heisen.Thread(3+rng.IntN(3)), heisen.Send, c, 16)
		p.add(heisen.Thread(6+rng.IntN(3)), heisen.Receive, c, 17)
	}
	allocating = func(p *program, rng *rand.Rand) {
		t := heisen.Thread(3 + rng.IntN(4))
		o := heisen.Object(1<<30 + 64*rng.IntN(10_000))
		p.records = append(p.records, heisen.Record{Op: heisen.Alloc, Thread: t, Object: o, Value: 64, Site: 18})
		p.add(t, heisen.Write, o+8, 19)
	}
)

// plain accesses x; late does so after a critical section.
func plain(t heisen.Thread, op heisen.Op, site heisen.Site) func(*program) {
	return func(p *program) { p.add(t, op, varX, site) }
}

func late(t heisen.Thread, op heisen.Op, site heisen.Site) func(*program) {
	return func(p *program) {
		p.section(t, lockA, 20)
		p.add(t, op, varX, site)
	}
}

func early(t heisen.Thread, op heisen.Op, site heisen.Site) func(*program) {
	return func(p *program) {
		p.add(t, op, varX, site)
		p.section(t, lockA, 21)
	}
}

func nested(t heisen.Thread, site heisen.Site, locks ...heisen.Object) func(*program) {
	return func(p *program) {
		for i, l := range locks {
			p.add(t, heisen.Acquire, l, site+heisen.Site(i))
		}
		for _, l := range locks {
			p.add(t, heisen.Release, l, 22)
		}
	}
}

var bugs = []far{
	{"write and write, own work", early(1, heisen.Write, siteX), late(2, heisen.Write, siteY), own, heisen.Race, false},
	{"write and read, guarded work", early(1, heisen.Write, siteX), late(2, heisen.Read, siteY), guarded, heisen.Race, false},
	{"read and write, guarded work of all", early(1, heisen.Read, siteX), late(2, heisen.Write, siteY), guardedByAll, heisen.Race, false},
	{"plain, messages", plain(1, heisen.Write, siteX), plain(2, heisen.Write, siteY), messages, heisen.Race, false},
	{"allocations", early(1, heisen.Write, siteX), late(2, heisen.Write, siteY), allocating, heisen.Race, false},
	{"atomic and plain", early(1, heisen.AtomicWrite, siteX), late(2, heisen.Write, siteY), guarded, heisen.Race, false},
	{"one under a lock", func(p *program) {
		p.section(1, lockB, 23, accessOf(1, heisen.Write, varX, siteX))
		p.section(1, lockA, 24)
	},
		late(2, heisen.Write, siteY), guarded, heisen.Race, false},
	{"lock order, own work", nested(1, 30, lockA, lockB), nested(2, 40, lockB, lockA), own, heisen.Deadlock, false},
	{"lock order, guarded work", nested(1, 30, lockA, lockB), nested(2, 40, lockB, lockA), guarded, heisen.Deadlock, false},
	{"lock order of three", func(p *program) { nested(1, 30, lockA, lockB)(p); nested(3, 33, lockB, lockC)(p) }, nested(2, 40, lockC, lockA), guardedByAll, heisen.Deadlock, false},

	{"read that saw the write", plain(1, heisen.Write, siteX), func(p *program) {
		p.add(1, heisen.Write, varY, 50)
		p.add(2, heisen.Read, varY, 51)
		p.add(2, heisen.Write, varX, siteY)
	}, guarded, heisen.Race, true},
	{"message", func(p *program) { p.add(1, heisen.Write, varX, siteX); p.add(1, heisen.Send, channel, 52) }, func(p *program) {
		p.add(2, heisen.Receive, channel, 53)
		p.add(2, heisen.Write, varX, siteY)
	}, messages, heisen.Race, true},
	{"common lock", func(p *program) { p.section(1, lockA, 54, accessOf(1, heisen.Write, varX, siteX)) },
		func(p *program) { p.section(2, lockA, 55, accessOf(2, heisen.Write, varX, siteY)) }, guarded, heisen.Race, true},
	{"gate lock", nested(1, 30, lockC, lockA, lockB), nested(2, 40, lockC, lockB, lockA), guarded, heisen.Deadlock, true},
}

// TestFar: bugs are predicted however far apart their halves are, and what no other order shows is not.
func TestFar(t *testing.T) {
	for _, distance := range tier.Pick([]int{20_000}, []int{100_000}, []int{100_000, 1_000_000}) {
		for k, bug := range bugs {
			t.Run(fmt.Sprintf("%s/%d", bug.name, distance), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(uint64(k), 9))
				p := &program{}
				bug.first(p)
				from := len(p.records)
				for len(p.records) < from+distance {
					bug.between(p, rng)
				}
				bug.second(p)
				var found []heisen.Finding
				d, err := syncp.NewDetector(syncp.WithSink(func(f heisen.Finding) {
					at := map[heisen.Site]bool{}
					for _, a := range f.Accesses {
						at[a.Site] = true
					}
					if f.Kind != bug.kind {
						t.Errorf("found %v", f)
					} else if f.Kind == heisen.Deadlock || at[siteX] && at[siteY] {
						found = append(found, f)
					}
				}))
				if err != nil {
					t.Fatal(err)
				}
				d.HandleRecords(p.records)
				if err := d.Flush(); err != nil {
					t.Fatal(err)
				}
				if len(found) == 1 == bug.kept || len(found) > 1 || d.Stats().Refused > 0 {
					t.Fatalf("%d findings, %d refused", len(found), d.Stats().Refused)
				}
				for _, f := range found {
					if f.Last != len(f.Accesses) || f.Accesses[0].Index == 0 || len(f.Witness) > 1<<16 {
						t.Errorf("%d last of %d, first access at %d", f.Last, len(f.Witness), f.Accesses[0].Index)
					}
				}
			})
		}
	}
}
