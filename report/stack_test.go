package report

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/dgraph-io/ristretto/v2"

	"github.com/heisen-go/heisen"
)

// BenchmarkStack resolves the stacks of accesses: with no cache, which is what a Resolver does, with
// a map, and with a cache of 16 MiB. A stack has depth
// frames. See docs/design/reports.md for what follows from it.
func BenchmarkStack(b *testing.B) {
	for _, depth := range []int{4, 16, 64} {
		for _, places := range []int{100, 10000} {
			symbols := heisen.NewSymbols()
			sites := make([]heisen.Site, 500)
			for i := range sites {
				sites[i] = symbols.AddSite(heisen.SiteInfo{Frames: []heisen.Frame{{
					Func: fmt.Sprintf("example.com/bank.(*account).step%d", i), File: "/src/example.com/bank/bank.go", Line: i,
				}}})
			}
			rng := rand.New(rand.NewPCG(1, 1))
			type place struct {
				site heisen.Site
				ctx  heisen.Context
			}
			all := make([]place, places)
			for i := range all {
				var c heisen.Cursor
				for range depth - 1 {
					c = symbols.Call(c, sites[rng.IntN(len(sites))])
				}
				all[i] = place{sites[rng.IntN(len(sites))], symbols.Context(c)}
			}
			r := resolution{symbols: symbols}
			workload := fmt.Sprintf("depth=%d/places=%d", depth, places)
			run := func(cache string, stack func(place) []Frame) {
				b.Run(workload+"/cache="+cache, func(b *testing.B) {
					b.ReportAllocs()
					n := 0
					for b.Loop() {
						n += len(stack(all[rng.IntN(len(all))]))
					}
					if n != b.N*depth {
						b.Errorf("%d frames, want %d", n, b.N*depth)
					}
				})
			}
			run("none", func(p place) []Frame { return r.stack(p.site, p.ctx) })
			known := map[place][]Frame{}
			run("map", func(p place) []Frame {
				s, ok := known[p]
				if !ok {
					s = r.stack(p.site, p.ctx)
					known[p] = s
				}
				return s
			})
			bounded, err := ristretto.NewCache(&ristretto.Config[uint64, []Frame]{NumCounters: 1 << 17, MaxCost: 16 << 20, BufferItems: 64})
			if err != nil {
				b.Fatal(err)
			}
			run("ristretto", func(p place) []Frame {
				key := uint64(p.site)<<32 | uint64(p.ctx)
				s, ok := bounded.Get(key)
				if !ok {
					s = r.stack(p.site, p.ctx)
					bounded.Set(key, s, int64(40*len(s)+64))
				}
				return s
			})
			bounded.Close()
		}
	}
}

// BenchmarkResolve resolves a race with the source files at hand: what a new finding costs.
func BenchmarkResolve(b *testing.B) {
	bank := newBank()
	f := heisen.Finding{Detector: "fasttrack", Kind: heisen.Race, Accesses: []heisen.Access{bank.reporting(), bank.depositing(heisen.Write)}}
	for _, memory := range []int64{0, 1 << 20} {
		b.Run(fmt.Sprintf("sources=%d", memory), func(b *testing.B) {
			r, err := NewResolver(WithSourceMemory(memory))
			if err != nil {
				b.Fatal(err)
			}
			defer r.Close()
			r.Resolve(f, bank.Symbols)
			b.ReportAllocs()
			for b.Loop() {
				r.Resolve(f, bank.Symbols)
			}
		})
	}
}
