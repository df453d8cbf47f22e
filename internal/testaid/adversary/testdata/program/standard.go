package adversary

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"log/slog"
	"math/big"
	"math/rand/v2"
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
	"text/template"
	"time"
)

// A locked buffer may be written by several goroutines.
type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// loggers share a writer.
//
//adversary:fragment bubble
func loggers(r *run) {
	var out locked
	plain := log.New(&out, "p ", 0)
	structured := slog.New(slog.NewTextHandler(&out, nil)).With("a", 1)
	var all sync.WaitGroup
	n := r.n(1, 3)
	for i := range n {
		all.Go(func() {
			plain.Printf("line %d", i)
			structured.Info("line", "i", i)
		})
	}
	all.Wait()
	check(r, strings.Count(out.b.String(), "\n"), 2*n, "lines of loggers")
	check(r, strings.Count(out.b.String(), "a=1"), n, "attributes of loggers")
}

var (
	words  = regexp.MustCompile(`(\w+)-(\d+)`)
	greets = template.Must(template.New("t").Parse(`{{range .}}<{{.N}}:{{printf "%q" .S}}>{{end}}`))
)

// sharedValues uses what many goroutines may use at once: expressions, templates, encoders' caches.
//
//adversary:fragment bubble
func sharedValues(r *run) {
	type item struct {
		N int
		S string
		M map[string][]int `json:",omitempty"`
	}
	var all sync.WaitGroup
	for i := range r.n(1, 3) {
		all.Go(func() {
			check(r, words.ReplaceAllString("ab-1 c-23", "$2.$1"), "1.ab 23.c", "a regular expression")
			var text strings.Builder
			no(r, greets.Execute(&text, []item{{N: i, S: "x"}}), "template")
			check(r, text.String(), fmt.Sprintf("<%d:%q>", i, "x"), "a template")
			in := item{i, "s", map[string][]int{"k": {1, i}}}
			var out, again item
			b, err := json.Marshal(in)
			if no(r, err, "json") && no(r, json.Unmarshal(b, &out), "json") {
				check(r, out.M["k"][1], i, "json there and back")
			}
			var wire bytes.Buffer
			if no(r, gob.NewEncoder(&wire).Encode(in), "gob") && no(r, gob.NewDecoder(&wire).Decode(&again), "gob") {
				check(r, again.M["k"][1], i, "gob there and back")
			}
		})
	}
	all.Wait()
}

// pipedBytes compresses in one goroutine and reads in another one.
//
//adversary:fragment bubble
func pipedBytes(r *run) {
	in, out := io.Pipe()
	text := strings.Repeat("heisen ", r.n(1, 300))
	go func() {
		z := gzip.NewWriter(out)
		_, err := io.WriteString(z, text)
		no(r, err, "write")
		no(r, z.Close(), "close of gzip")
		no(r, out.Close(), "close of a pipe")
	}()
	z, err := gzip.NewReader(bufio.NewReader(in))
	if !no(r, err, "gzip") {
		return
	}
	got, err := io.ReadAll(z)
	no(r, err, "read")
	_, err = io.Copy(io.Discard, in)
	no(r, err, "rest")
	check(r, string(got), text, "what went through a pipe")
}

// hashes sums and numbers without sharing.
//
//adversary:fragment bubble
func hashes(r *run) {
	sums := make([][32]byte, r.n(2, 3))
	numbers := make([]*big.Int, len(sums))
	var all sync.WaitGroup
	for i := range sums {
		all.Go(func() {
			sums[i] = sha256.Sum256(binary.BigEndian.AppendUint64(nil, 77))
			numbers[i] = new(big.Int).Exp(big.NewInt(3), big.NewInt(200), nil)
		})
	}
	all.Wait()
	for i := range sums {
		check(r, sums[i], sums[0], "sums of the same bytes")
		check(r, numbers[i].Cmp(numbers[0]), 0, "powers of the same number")
	}
	check(r, fmt.Sprintf("%x", sums[0][:2]), "155b", "the first bytes of a sum")
}

// randomNumbers come from the global source and from own ones with seeds.
//
//adversary:fragment bubble
func randomNumbers(r *run) {
	seed := uint64(r.n(1, 99))
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			if n := rand.IntN(10); n < 0 || n > 9 {
				r.Errorf("a random number below ten is %d", n)
			}
			a, b := rand.New(rand.NewPCG(seed, 1)), rand.New(rand.NewPCG(seed, 1))
			check(r, a.Uint64(), b.Uint64(), "random numbers of equal seeds")
			check(r, len(rand.Perm(5)), 5, "a permutation")
		})
	}
	all.Wait()
}

// settings of the collector may change at any time.
//
//adversary:fragment
func settings(r *run) {
	was := debug.SetGCPercent(r.n(20, 200))
	b := make([][]byte, 50)
	for i := range b {
		b[i] = bytes.Repeat([]byte{byte(i)}, 1000)
	}
	debug.SetGCPercent(100)
	debug.FreeOSMemory()
	sum := 0
	for i := range b {
		sum += int(b[i][999])
	}
	check(r, sum, 49*25, "bytes after a collection")
	check(r, was > 0, true, "the setting before")
}

// dates are formatted and parsed from several goroutines.
//
//adversary:fragment bubble
func dates(r *run) {
	begin := time.Date(2024, 2, 28, 12, 0, 0, 0, time.UTC)
	var all sync.WaitGroup
	for i := range r.n(1, 3) {
		all.Go(func() {
			day := begin.AddDate(0, 0, i)
			back, err := time.Parse(time.RFC3339, day.Format(time.RFC3339))
			no(r, err, "date")
			check(r, back.Equal(day), true, "a date there and back")
			check(r, time.Now().Sub(time.Now()) <= 0, true, "time goes on")
		})
	}
	all.Wait()
}
