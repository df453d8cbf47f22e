package report_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/report"
)

// race returns a finding, as a detector hands it to its sink, and the Symbols of its stream.
func race() (heisen.Finding, *heisen.Symbols) {
	symbols := heisen.NewSymbols()
	for t, name := range []string{"T0", "T1"} {
		symbols.SetThread(heisen.Thread(t), heisen.ThreadInfo{Name: name})
	}
	symbols.SetName(8, "V1")
	return heisen.Finding{
		Detector: "fasttrack",
		Kind:     heisen.Race,
		Message:  "read is not ordered with an earlier write",
		Accesses: []heisen.Access{
			{Op: heisen.Write, Thread: 0, Object: 8, Site: symbols.AddSite(heisen.SiteInfo{Text: "12"})},
			{Op: heisen.Read, Thread: 1, Object: 8, Site: symbols.AddSite(heisen.SiteInfo{Text: "30"})},
		},
	}, symbols
}

// A Collector counts the findings of a stream. Its method Add is the sink of the detectors.
func ExampleCollector() {
	finding, symbols := race()
	collector, err := report.NewCollector(report.WithSymbols(symbols))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer collector.Close()

	collector.Add(finding) // as a detector does it
	collector.Add(finding)

	for _, f := range collector.Findings() {
		fmt.Println(f.Count, f)
	}
	// Output: 2 race: read is not ordered with an earlier write: write 12, read 30 [d54d4cc32f1d6854]
}

// A baseline hides findings that are known, and suppressions hide findings by their place.
func ExampleCollector_known() {
	finding, symbols := race()
	other := finding
	other.Accesses = []heisen.Access{{Op: heisen.Write, Object: 16}, {Op: heisen.Write, Thread: 1, Object: 16}}

	baseline, err := report.ReadBaseline(strings.NewReader(`{"kind":"race","fingerprint":"d54d4cc32f1d6854"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	suppressions, err := report.ReadSuppressions("heisen.suppress", strings.NewReader("variable V3 # statistics\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	collector, err := report.NewCollector(report.WithSymbols(symbols),
		report.WithBaseline(baseline), report.WithSuppressions(suppressions))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer collector.Close()
	collector.Add(finding)
	collector.Add(other)

	fmt.Println(len(collector.Findings()), "new,", len(collector.Hidden()), "known")
	for _, f := range collector.Findings() {
		baseline.Add(f) // the next run does not report it
	}
	if err := baseline.Write(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 1 new, 1 known
	// {"detector":"","kind":"race","fingerprint":"d54d4cc32f1d6854","certainty":"confirmed","message":""}
	// {"detector":"fasttrack","kind":"race","fingerprint":"cab36f125f4dec35","certainty":"confirmed","message":"read is not ordered with an earlier write","accesses":[{"op":"write"},{"op":"write"}]}
}

// WriteText prints a finding in the style of the reports of go test -race.
func ExampleWriteText() {
	finding, symbols := race()
	resolver, err := report.NewResolver()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resolver.Close()
	f := resolver.Resolve(finding, symbols)
	if err := report.WriteText(os.Stdout, &f); err != nil {
		fmt.Println(err)
	}
	// Output:
	// ==================
	// WARNING: DATA RACE
	// read is not ordered with an earlier write
	// Found by fasttrack, fingerprint d54d4cc32f1d6854
	//
	// Read by T1 at V1:
	//   30
	//
	// Previous write by T0 at V1:
	//   12
	// ==================
}

// A line of JSON has everything that is known about a finding.
func ExampleWriteJSON() {
	var resolver report.Resolver // the zero Resolver reads no source files
	f := resolver.Resolve(race())

	var lines bytes.Buffer
	if err := report.WriteJSON(&lines, &f); err != nil {
		fmt.Println(err)
		return
	}
	read, err := report.ReadJSON(&lines)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(read), read[0].Fingerprint == f.Fingerprint, read[0].Accesses[1].Object)
	// Output: 1 true V1
}

// Detectors of a stream report to a Collector.
func Example() {
	_, symbols := race()
	collector, err := report.NewCollector(report.WithSymbols(symbols))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer collector.Close()
	stream := heisen.Slice([]heisen.Record{
		{Op: heisen.Write, Thread: 0, Object: 8, Site: 1},
		{Op: heisen.Write, Thread: 1, Object: 8, Site: 2},
	})
	if _, err := heisen.Run(context.Background(), stream, &anyTwo{sink: collector.Add}); err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range collector.Findings() {
		if err := report.WriteText(os.Stdout, &f); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// ==================
	// WARNING: SUSPICIOUS
	// two events
	// Found by anytwo, fingerprint 68e5314e847d3d42
	//
	// Write by T0 at V1:
	//   12
	//
	// Write by T1 at V1:
	//   30
	// ==================
}

// anyTwo is a detector that reports the first two events of a stream.
type anyTwo struct {
	sink  heisen.Sink
	first *heisen.Access
	done  bool
}

func (d *anyTwo) Handle(e heisen.Event) {
	a := heisen.AccessOf(heisen.AsRecord(e), 0)
	if d.first == nil {
		d.first = &a
	} else if !d.done {
		d.done = true
		d.sink(heisen.Finding{Detector: "anytwo", Kind: "suspicious", Message: "two events", Accesses: []heisen.Access{*d.first, a}})
	}
}

func (d *anyTwo) Flush() error { return nil }
