package library

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"html/template"
	"io"
	"log/slog"
	"math/rand/v2"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"
)

var page = template.Must(template.New("page").Parse(`<h1>{{.ID}}</h1>
<p>{{.Customer.Name}}, {{.Customer.Email}}</p>
<ul>{{range .Items}}<li>{{.Count}} x {{.Name}}: {{printf "%.2f" .Price}}</li>{{end}}</ul>
{{with .Labels}}<p>{{range $k, $v := .}}{{$k}}={{$v}} {{end}}</p>{{end}}`))

func BenchmarkTemplate(b *testing.B) {
	o := newOrder(20)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := page.Execute(io.Discard, o); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

var logLine = regexp.MustCompile(`^(\S+) \S+ \[([^\]]+)\] "(\w+) ([^" ]+)[^"]*" (\d{3}) (\d+)`)

func BenchmarkRegexp(b *testing.B) {
	var lines []string
	for n := range 50 {
		lines = append(lines, fmt.Sprintf(`10.0.0.%d - [02/Jan/2026:03:04:05] "GET /items/%d?q=x HTTP/1.1" 200 %d`, n, n*n, n*1000))
	}
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			for _, line := range lines {
				if logLine.FindStringSubmatch(line) == nil {
					b.Error("no match")
					return
				}
			}
		}
	})
}

func BenchmarkSort(b *testing.B) {
	words := make([]string, 2000)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range words {
		words[i] = fmt.Sprintf("word-%08d", r.IntN(1e8))
	}
	for b.Loop() {
		s := slices.Clone(words)
		sort.Slice(s, func(i, j int) bool { return s[i] < s[j] })
		t := slices.Clone(words)
		sort.Sort(sort.Reverse(sort.StringSlice(t)))
	}
}

func BenchmarkSlog(b *testing.B) {
	logger := slog.New(slog.NewJSONHandler(io.Discard, nil)).With("service", "orders")
	b.RunParallel(func(pb *testing.PB) {
		for n := 0; pb.Next(); n++ {
			logger.Info("request", "method", "GET", "path", "/items", "status", 200, "count", n,
				slog.Group("client", "address", "10.0.0.1", "agent", "test"))
		}
	})
}

func BenchmarkCompression(b *testing.B) {
	var text strings.Builder
	r := rand.New(rand.NewPCG(1, 2))
	for text.Len() < 64<<10 {
		fmt.Fprintf(&text, "line %d of the log, request %d took %d ms\n", text.Len(), r.IntN(1000), r.IntN(50))
	}
	plain := []byte(text.String())
	for b.Loop() {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		if _, err := w.Write(plain); err != nil {
			b.Fatal(err)
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
		unpacked, err := gzip.NewReader(&packed)
		if err != nil {
			b.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, unpacked); err != nil || n != int64(len(plain)) {
			b.Fatal(n, err)
		}
	}
}
