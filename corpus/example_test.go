package corpus_test

import (
	"fmt"
	"log"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/corpus"
	"github.com/heisen-go/heisen/vclock"
)

// FastTrack finds what is not ordered in the traces, and never claims a race that is none.
func ExampleTraces() {
	for _, trace := range corpus.Traces(10_000, 1) {
		var findings []heisen.Finding
		detector, err := vclock.NewFastTrack(vclock.WithSink(func(f heisen.Finding) { findings = append(findings, f) }))
		if err != nil {
			log.Fatal(err)
		}
		for i := range trace.Records {
			detector.Handle(trace.Records[i].Event())
		}
		if err := detector.Flush(); err != nil {
			log.Fatal(err)
		}
		verdict := trace.Judge(findings)
		missed := map[string]int{}
		for _, p := range verdict.Missed {
			missed[p.Shape]++
		}
		fmt.Println(trace.Name, len(verdict.Found), "found, missed", missed, "false", len(verdict.Wrong)+len(verdict.Other))
	}
	// Output:
	// lock-protected 24 found, missed map[inside:12 shadowed:12] false 0
	// sync-heavy 24 found, missed map[inside:12 shadowed:12] false 0
	// thread-local 24 found, missed map[inside:12 shadowed:12] false 0
	// read-shared 24 found, missed map[inside:12 shadowed:12] false 0
}

// The programs can be run by any tool: here their sources and what is expected of the first one are read.
func ExamplePrograms() {
	programs, err := corpus.Programs()
	if err != nil {
		log.Fatal(err)
	}
	p := programs[0]
	fmt.Println(len(programs), "programs in", len(corpus.Classes()), "classes")
	fmt.Printf("%s/%s: %s has a %s at line %d, %s has none\n", p.Class, p.File, p.Test, p.Wants[0].Kind, p.Wants[0].Line, p.Fixed)
	// Output:
	// 56 programs in 14 classes
	// mutex/plugins_test.go: TestPlugins has a deadlock at line 26, TestPluginsFixed has none
}
