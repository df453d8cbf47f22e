package main

import (
	"cmp"
	"fmt"
	"strings"
)

// A benchmark is a benchmark of a public module, or of the module in the folder library if it names
// none.
type benchmark struct {
	module, version string
	pkg             string // relative to the module
	name            string // as -test.bench takes it
	iterations      int    // takes about a second under the race detector
}

func (b benchmark) String() string {
	path := strings.Split(cmp.Or(b.module, "library"), "/")
	short := path[len(path)-1]
	if short[0] == 'v' && len(path) > 1 && strings.Trim(short[1:], "0123456789") == "" {
		short = path[len(path)-2]
	}
	name := strings.NewReplacer("^", "", "$", "", "Benchmark", "").Replace(b.name)
	return fmt.Sprintf("%s %s", short, name)
}

// suites has the benchmarks, in two groups that were chosen before anything was measured.
var suites = []namedSuite{{"structures", structures}, {"library", library}}

type namedSuite struct {
	name       string
	benchmarks []benchmark
}

// structures are concurrent data structures with locks, with atomic operations and with channels, and two
// benchmarks with a single goroutine. They spend their time in the module itself.
var structures = []benchmark{
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

// library are programs that spend their time in the standard library and in dependencies: servers, encoders,
// text, loggers, routers.
var library = []benchmark{
	{"", "", ".", "^BenchmarkHTTPLoopback$", 3_000},
	{"", "", ".", "^BenchmarkHTTPMemory$", 3_000},
	{"", "", ".", "^BenchmarkJSONMarshal$", 5_000},
	{"", "", ".", "^BenchmarkJSONUnmarshal$", 1_500},
	{"", "", ".", "^BenchmarkYAML$", 200},
	{"", "", ".", "^BenchmarkTemplate$", 300},
	{"", "", ".", "^BenchmarkRegexp$", 150},
	{"", "", ".", "^BenchmarkSort$", 80},
	{"", "", ".", "^BenchmarkSlog$", 10_000},
	{"", "", ".", "^BenchmarkCompression$", 8},
	{"", "", ".", "^BenchmarkRequests$", 5_000},
	{"", "", ".", "^BenchmarkGRPC$", 1_000},
	{"go.uber.org/zap", "v1.28.0", ".", "^Benchmark10Fields$", 100_000},
	{"github.com/gin-gonic/gin", "v1.12.0", ".", "^BenchmarkOneRouteJSON$", 100_000},
	{"github.com/go-chi/chi/v5", "v5.5.0", ".", "^BenchmarkMux$", 20_000},
	{"github.com/valyala/fasthttp", "v1.78.0", ".", "^BenchmarkClientGetEndToEnd10Inmemory$", 20_000},
}

// A change is a change of a file of a module.
type change struct{ file, from, to string }

// changes has changes by module. They replace random decisions at the start of a program by fixed ones, because
// otherwise medians would be random.
var changes = map[string]change{
	// Whether memory comes from Go's heap, where the race detector sees it.
	"github.com/cockroachdb/pebble/v2": {"internal/manual/manual_cgo.go", "rand.Uint32()%2 == 0", "rand.Uint32()%1 == 0"},
}

// A configuration says how a benchmark runs.
type configuration struct {
	name      string
	program   string // plain, race, heisen, order or focused
	analyzer  bool
	detectors string // detectors of the analyzer; if empty, it drops the events
}

var configurations = []configuration{
	{name: "plain", program: "plain"},
	{name: "race", program: "race"},
	{name: "record", program: "heisen", analyzer: true},
	{name: "fasttrack", program: "heisen", analyzer: true, detectors: "fasttrack"},
	{name: "focused", program: "focused", analyzer: true, detectors: "fasttrack"},
	{name: "order", program: "order", analyzer: true, detectors: "fasttrack"},
	{name: "atomrace", program: "heisen", analyzer: true, detectors: "atomrace"},
	{name: "all", program: "heisen", analyzer: true, detectors: "all"},
}
