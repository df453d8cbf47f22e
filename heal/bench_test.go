package heal

import (
	"fmt"
	"testing"

	"github.com/heisen-go/heisen"
)

// BenchmarkProfiler has threads that access variables in turns.
func BenchmarkProfiler(b *testing.B) {
	for _, threads := range []int{2, 16} {
		b.Run(fmt.Sprintf("threads=%d", threads), func(b *testing.B) {
			symbols := heisen.NewSymbols()
			var sites []heisen.Site
			for line := range 8 {
				sites = append(sites, symbols.AddSite(heisen.SiteInfo{Frames: []heisen.Frame{{Func: "f", File: "f.go", Line: line + 1}}}))
			}
			p, err := NewProfiler(symbols)
			if err != nil {
				b.Fatal(err)
			}
			records := make([]heisen.Record, 1024)
			for i := range records {
				records[i] = heisen.Record{
					Op: heisen.Read, Thread: heisen.Thread(i / 4 % threads), Object: heisen.Object(8 * (1 + i%32)), Site: sites[i%8], Len: 8,
				}
				if i%16 == 0 {
					records[i].Op = heisen.Write
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				p.HandleRecords(records)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(records)), "ns/event")
		})
	}
}
