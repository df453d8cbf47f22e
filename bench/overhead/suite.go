package main

import (
	"fmt"
	"strings"
)

// benchmark is a benchmark of a public module.
type benchmark struct {
	module, version string
	pkg             string // below the module
	name            string // as -test.bench takes it
	iterations      int    // a second or so under the race detector
}

func (b benchmark) String() string {
	path := strings.Split(b.module, "/")
	short := path[len(path)-1]
	if short[0] == 'v' && len(path) > 1 && strings.Trim(short[1:], "0123456789") == "" {
		short = path[len(path)-2]
	}
	name := strings.NewReplacer("^", "", "$", "", "Benchmark", "").Replace(b.name)
	return fmt.Sprintf("%s %s", short, name)
}

// suite is the benchmarks that are measured: concurrent data structures with
// locks, with atomics and with channels, and two that have a single goroutine.
var suite = []benchmark{
	{"github.com/dgraph-io/ristretto/v2", "v2.4.0", ".", "^BenchmarkStoreGet$", 1_000_000},
	{"github.com/dgraph-io/ristretto/v2", "v2.4.0", ".", "^BenchmarkStoreUpdate$", 1_000_000},
	{"github.com/puzpuzpuz/xsync/v4", "v4.5.0", ".", "^BenchmarkMap_WarmUp$/^reads=90%$", 2_000_000},
	{"github.com/puzpuzpuz/xsync/v4", "v4.5.0", ".", "^BenchmarkMPMCQueue$", 2_000_000},
	{"github.com/hashicorp/golang-lru/v2", "v2.0.7", ".", "^BenchmarkLRU_Rand$", 300_000},
	{"github.com/google/btree", "v1.1.3", ".", "^BenchmarkInsert$", 200_000},
	{"github.com/google/btree", "v1.1.3", ".", "^BenchmarkGet$", 200_000},
	{"github.com/panjf2000/ants/v2", "v2.12.1", ".", "^BenchmarkParallelAntsPoolThroughput$", 100_000},
	{"github.com/RoaringBitmap/roaring/v2", "v2.30.0", ".", "^BenchmarkIntersectionLargeParallel$", 4},
	{"go.etcd.io/bbolt", "v1.5.0", ".", "^BenchmarkDBBatchAutomatic$", 10},
	{"github.com/cockroachdb/pebble/v2", "v2.1.7", "internal/cache", "^BenchmarkCacheGet$", 100_000},
}

// change is one of a module's files.
type change struct{ file, from, to string }

// changes are made beforehand, by module: what a program decides by tossing a coin when it starts, it decides
// always alike, for medians would be up to luck.
var changes = map[string]change{
	// Whether it takes memory from Go's heap, where the race detector sees it, or not.
	"github.com/cockroachdb/pebble/v2": {"internal/manual/manual_cgo.go", "rand.Uint32()%2 == 0", "rand.Uint32()%1 == 0"},
}

// way is a way of running a benchmark.
type way struct {
	name      string
	program   string // which of the programs: plain, race or heisen
	analyser  bool
	detectors string // of the analyser; none: it drops what it receives
}

var ways = []way{
	{name: "plain", program: "plain"},
	{name: "race", program: "race"},
	{name: "record", program: "heisen", analyser: true},
	{name: "fasttrack", program: "heisen", analyser: true, detectors: "fasttrack"},
	{name: "atomrace", program: "heisen", analyser: true, detectors: "atomrace"},
	{name: "all", program: "heisen", analyser: true, detectors: "all"},
}
