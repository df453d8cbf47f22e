package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/heisen-go/heisen/internal/cli"
)

// FuzzBounded: every command that reads a file ends with one of its statuses on every file of at most 1 MiB,
// within a minute and a gigabyte; what it prints has no control characters, and an error says where.
func FuzzBounded(f *testing.F) {
	commands := [][]string{
		{"analyze", "-transactions", "critical", "-detect", "fasttrack,hb,eraser,hybrid,lockorder,serial,blocks,reduction,mcm,atomrace", "FILE"},
		{"analyze", "-transactions", "marked,calls", "-detect", "serial,blocks,reduction,mcm", "-report", "json", "-window", "20", "FILE"},
		{"analyze", "-filter", "tree", "-detect", "fasttrack,hb,hybrid,lockorder", "-report", "html:OUT", "FILE"},
		{"trace", "stat", "FILE"},
		{"trace", "validate", "FILE"},
		{"trace", "print", "FILE"},
		{"trace", "convert", "-o", "OUT", "FILE"},
		{"view", "-o", "OUT", "FILE"},
		{"analyze", "-baseline", "FILE", "OTHER"},
		{"analyze", "-suppress", "FILE", "OTHER"},
		{"analyze", "-detect", "atomrace,mcm", "-sections", "FILE", "OTHER"},
		{"fuzz", "-merge", "FILE"},
	}
	f.Add(uint8(0), bomb202()) // TestHostileTraces tries more of this kind
	f.Add(uint8(7), bomb202())
	for i := range commands {
		f.Add(uint8(i), []byte("T0|w(x\x1b]0;me\x07)|1\nT1|acq(l)|f.go:2\nT1|w(x\x1b]0;me\x07)|\x9b2J\nT1|rel(l)|\nT\u202e|fork(U)\n"))
		f.Add(uint8(i), []byte("heisen sections 1\n\nsection f.go:1 read\n\tend f.go:2 write {read}\n"))
		f.Add(uint8(i), []byte("{\"detector\":\"hb\",\"kind\":\"race\",\"fingerprint\":\"01\\u001b\",\"count\":1}\nvariable x # why\n"))
	}
	dir := f.TempDir()
	other := filepath.Join(dir, "other.std")
	if err := os.WriteFile(other, []byte("T0|w(x)|f.go:1\nT1|w(x)|f.go:2\n"), 0o666); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, command uint8, data []byte) {
		if len(data) > maxHostile {
			return
		}
		file := filepath.Join(dir, "file")
		if err := os.WriteFile(file, data, 0o666); err != nil {
			t.Fatal(err)
		}
		args := append([]string(nil), commands[int(command)%len(commands)]...)
		if last := args[len(args)-1]; args[0] != "fuzz" && (last == "FILE" || last == "OTHER") {
			args = append(args[:len(args)-1], "-max-time", "200ms", "-max-memory", "400M", last) // so that it is fast
		}
		for i := range args {
			args[i] = strings.NewReplacer("FILE", file, "OTHER", other, "OUT", filepath.Join(dir, "out")).Replace(args[i])
		}
		start := time.Now()
		most, stop := watchMemory()
		status, out, errs := heisenCommand(args...)
		stop()
		switch status {
		case cli.Clean, cli.Findings:
		case cli.Failed, cli.Misused:
			if len(errs) == 0 {
				t.Errorf("%v: status %d without a message", args, status)
			}
		default:
			t.Errorf("%v: status %d", args, status)
		}
		if spent := time.Since(start); spent > time.Minute || *most > 1<<30 {
			t.Errorf("%v takes %v and %d MiB", args, spent, *most>>20)
		}
		if i := strings.IndexFunc(out+errs, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r >= 0x80 && r < 0xa0 }); i >= 0 {
			t.Errorf("%v prints a control character: %q", args, (out + errs)[i:min(i+20, len(out+errs))])
		}
		if strings.Contains(errs, "has panicked") || bytes.Contains([]byte(errs), []byte("goroutine ")) {
			t.Errorf("%v: %s", args, errs)
		}
	})
}

// watchMemory returns where the most memory in use is noted, until stop is called.
func watchMemory() (most *uint64, stop func()) {
	most = new(uint64)
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		use := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
		ticker := time.NewTicker(5 * time.Millisecond)
		defer ticker.Stop()
		for {
			metrics.Read(use)
			*most = max(*most, use[0].Value.Uint64()-use[1].Value.Uint64())
			select {
			case <-ended:
				return
			case <-ticker.C:
			}
		}
	}()
	return most, func() { close(ended); <-done }
}
