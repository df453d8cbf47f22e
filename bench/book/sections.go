package main

import (
	"fmt"
	"slices"
	"strings"
)

// A section is a section of the book.
type section struct {
	name, title string
	commands    [][]string // what go run takes: a package and its arguments
	quick       [][]string // the same with fewer runs
	published   string     // what the paper had, in a sentence or two
	takes       string     // expected time
}

// sections has the sections of the book, in its order.
var sections = []section{
	{
		name:      "tree",
		title:     "Filtering redundant events (TREE, Table 5.1 and Figures 5.1 to 5.3)",
		commands:  [][]string{{"./bench/tree", "-programs"}, {"./bench/tree", "-live"}, {"./bench/tree", "-figures"}},
		quick:     [][]string{{"./bench/tree", "-programs", "-count", "2", "-events", "500000"}, {"./bench/tree", "-live", "-count", "1"}, {"./bench/tree", "-figures", "-count", "2", "-scale", "0.5"}},
		published: "The thesis \"TREE and RDIT\" measured Java programs with the analysis inside; its figures stand beside ours. Its curves have no numbers, so what it says about them stands above the tables.",
		takes:     "about 20 minutes",
	},
	{
		name:      "rdit",
		title:     "Races despite hidden packages (RDIT, Tables 5.3 and 5.4)",
		commands:  [][]string{{"./bench/rdit"}},
		quick:     [][]string{{"./bench/rdit", "-runs", "1"}},
		published: "The tables of the thesis \"TREE and RDIT\" follow ours. Its programs are large programs in Java, ours are clients of Go modules, so only the form can be compared: reports that are true, and false alarms.",
		takes:     "about 5 minutes",
	},
	{
		name:      "noise",
		title:     "Noise (AtomRace, Table 2)",
		commands:  [][]string{{"./bench/noise"}},
		quick:     [][]string{{"./bench/noise", "-runs", "5"}},
		published: "The paper's program had four racy variables, ours has five. Its last three columns stand beside ours.",
		takes:     "about 5 minutes",
	},
	{
		name:      "racefuzz",
		title:     "Race-directed testing (RaceFuzzer, Table 1 and Figures 1 and 2)",
		commands:  [][]string{{"./bench/racefuzz", "-table"}, {"./bench/racefuzz", "-table", "-passes", "400", "-programs", "linkedlist,arraylist,hashset,treeset"}, {"./bench/racefuzz", "-curves"}},
		quick:     [][]string{{"./bench/racefuzz", "-table", "-seeds", "5", "-plain", "20"}, {"./bench/racefuzz", "-table", "-passes", "50", "-plain", "20", "-programs", "treeset"}, {"./bench/racefuzz", "-curves", "-runs", "200", "-statements", "10,100,1000"}},
		published: "The paper's figures are those of larger Java programs. They stand beside ours; for Figures 1 and 2 the paper has arguments and no measurements.",
		takes:     "about 10 minutes",
	},
	{
		name:      "focus",
		title:     "Focused checking (Agarwal, Sasturkar, Wang and Stoller, Tables 1 and 2)",
		commands:  [][]string{{"./bench/focus"}, {"./bench/focus", "-atomicity"}},
		quick:     [][]string{{"./bench/focus", "-count", "1"}, {"./bench/focus", "-atomicity", "-count", "1"}},
		published: "The paper measured Eraser and the block-based algorithm in Java programs; each of its tables follows ours. For Table 2, the paper's transactions are methods; recordings of Go programs have critical sections.",
		takes:     "about 20 minutes",
	},
	{
		name:      "healing",
		title:     "Healing (Weeratunge, Zhang and Jagannathan, Tables 3 and 4)",
		commands:  [][]string{{"./bench/healing", "-table3"}, {"./bench/healing", "-table4"}, {"./bench/healing", "-many", "-runs", "10000"}, {"./bench/healing", "-live"}},
		quick:     [][]string{{"./bench/healing", "-table3", "-runs", "5"}, {"./bench/healing", "-table4", "-runs", "3"}, {"./bench/healing", "-many", "-runs", "1000"}, {"./bench/healing", "-live", "-runs", "5"}},
		published: "The paper measured servers and tools in C and C++; its tables follow ours. The first three tables are about locks that are placed in the source by profiles: where they are, what they cost in realistic workloads, and what they prevent under noise. The last one is about programs that heal themselves; these do little but what is healed, so their overheads are those of the worst case.",
		takes:     "about 25 minutes",
	},
	{
		name:      "overhead",
		title:     "Overhead beside -race",
		commands:  [][]string{{"./bench/overhead", "-count", "5", "-skip", "all"}},
		quick:     [][]string{{"./bench/overhead", "-count", "3", "-skip", "all,record,atomrace,plain"}},
		published: "No paper has these programs. The measure is Go's own race detector.",
		takes:     "about half an hour",
	},
	{
		name:      "modules",
		title:     "Tests of public modules, beside -race",
		commands:  [][]string{{"./bench/modules"}, {"./bench/modules", "-first", "-only", "grpc|raft|fasthttp|bbolt"}},
		quick:     [][]string{{"./bench/modules", "-runs", "1"}, {"./bench/modules", "-first", "-only", "raft"}},
		published: "No paper has these programs. The measure is Go's own race detector, whose test binaries sleep for a second each at their ends.",
		takes:     "about an hour",
	},
	{
		name:      "rivals",
		title:     "Bugs found, beside other tools",
		commands:  [][]string{{"./bench/rivals", "-keep", "rivals.json"}},
		quick:     [][]string{{"./bench/rivals", "-runs", "10", "-keep", "rivals.json"}},
		published: "No paper has these programs: they were written for the tests of heisen, from descriptions of classes of bugs. [Comparison](../docs/comparison.md) says what each tool is better at.",
		takes:     "about an hour",
	},
	{
		name:      "strategies",
		title:     "Strategies of heisen fuzz",
		commands:  [][]string{{"./bench/strategies"}},
		quick:     [][]string{{"./bench/strategies", "-n", "50", "-times", "250ms,1s", "-class", "mixed,atomicity"}},
		published: "No paper has these programs: they were written for heisen, from descriptions of classes of bugs.",
		takes:     "about 5 minutes",
	},
	{
		name:      "detectors",
		title:     "Detectors on planted races",
		commands:  [][]string{{"./bench/detectors"}},
		quick:     [][]string{{"./bench/detectors", "-events", "20000", "-count", "1"}},
		published: "No paper has these traces. Package corpus says what is planted in them; a detector of yours compares with them by a few lines.",
		takes:     "about 2 minutes",
	},
	{
		name:      "schedule",
		title:     "Cost of a scheduling choice",
		commands:  [][]string{{"./bench/schedule"}},
		quick:     [][]string{{"./bench/schedule", "-runs", "2"}},
		published: "No paper has this.",
		takes:     "about 2 minutes",
	},
}

// choose returns the sections with the names, in the order of the book, or all if there are no names.
func choose(all []section, names []string) (chosen []section, err error) {
	var known []string
	for _, s := range all {
		known = append(known, s.name)
		if len(names) == 0 || slices.Contains(names, s.name) {
			chosen = append(chosen, s)
		}
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("no section is called %q; there are %s", name, strings.Join(known, ", "))
		}
	}
	return chosen, nil
}
