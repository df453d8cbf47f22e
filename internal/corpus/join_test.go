package corpus

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heisen-go/heisen/racefuzz"
)

// randomMemory returns what a process may know that began in one of few runs, with one of few programs.
func randomMemory(rng *rand.Rand, programs int) *Memory {
	m := &Memory{Package: key.Package, Runs: rng.Uint64N(3), Program: fmt.Sprintf("%02x", rng.IntN(programs)), Rounds: rng.Uint64N(4)}
	m.Used = rng.Uint64N(m.Runs + 1)
	hashes := func() (all []uint64) {
		for h := range uint64(4) {
			if rng.IntN(2) == 0 {
				all = append(all, h)
			}
		}
		return all
	}
	for i := range 3 {
		if rng.IntN(3) == 0 {
			continue
		}
		one := Test{Name: fmt.Sprint("Test", i), Executions: rng.Uint64N(9), Took: time.Duration(rng.IntN(9)), Run: rng.Uint64N(m.Runs + 1), Behaviors: hashes(), Orders: hashes()}
		for id := range 3 {
			if rng.IntN(2) == 0 {
				one.Work = append(one.Work, Work{fmt.Sprintf("%02x", id), rng.Uint64N(9), time.Duration(rng.IntN(9))})
			}
		}
		m.PutTest(one)
	}
	for i := range 3 {
		f := Finding{
			Fingerprint: fmt.Sprintf("%02x", i), Subject: fmt.Sprint("subject ", rng.IntN(2)), First: Day(fmt.Sprintf("2026-11-0%d", 1+rng.IntN(3))),
			Last: Day(fmt.Sprintf("2026-11-0%d", 4+rng.IntN(3))), Stated: rng.Uint64N(m.Runs + 1), Found: rng.Uint64N(m.Runs + 1), Harmful: rng.IntN(2) == 0,
		}
		if rng.IntN(2) == 0 {
			f.Gone, f.Fixed = Day(fmt.Sprintf("2026-11-0%d", 7+rng.IntN(2))), rng.IntN(2) == 0
		}
		if rng.IntN(2) == 0 {
			f.Schedule = &racefuzz.Schedule{Strategy: "replay", Seed: rng.Uint64N(20)}
		}
		if rng.IntN(3) > 0 {
			m.PutFinding(f)
		}
	}
	return m
}

// TestJoin: what memories know together depends neither on their order, nor on how often one of them is among them. With one program, it does not depend on
// which of them were joined before either.
func TestJoin(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	joined := func(all ...*Memory) *Memory {
		m, _ := Join(all...)
		return m
	}
	for range 3000 {
		programs := 1 + rng.IntN(2)
		var all []*Memory
		for range 2 + rng.IntN(4) {
			all = append(all, randomMemory(rng, programs))
		}
		want := text(t, joined(all...))
		again := slices.Concat(all, all[:rng.IntN(len(all))])
		rng.Shuffle(len(again), func(i, j int) { again[i], again[j] = again[j], again[i] })
		if got := text(t, joined(again...)); got != want {
			t.Fatalf("%s\nin another order\n%s", want, got)
		}
		if got := text(t, joined(append(again, joined(all...))...)); got != want {
			t.Fatalf("%s\nwith itself\n%s", want, got)
		}
		at := rng.IntN(len(again))
		if got := text(t, joined(joined(again[:at]...), joined(again[at:]...))); got != want && programs == 1 && at > 0 {
			t.Fatalf("%s\nin two parts\n%s", want, got)
		}
	}
}

// TestJoinStates: of processes of one run, one that has found a finding decides. A later run decides whatever it says. The time of a run counts once.
func TestJoinStates(t *testing.T) {
	base := sample()
	shard := func(id string, found bool) *Memory {
		m := base.Clone()
		m.Begin("01ab")
		f := *m.Finding("0b")
		if f.Stated, f.Gone, f.Fixed = m.Runs, "2026-11-11", true; found {
			f.Found, f.Last, f.Gone, f.Fixed = m.Runs, "2026-11-11", "", false
		}
		m.PutFinding(f)
		pay := *m.Test("TestPay")
		pay.Add(m.Runs, Work{id, 5, time.Second})
		m.PutTest(pay)
		return m
	}
	one, two := shard("aa", true), shard("bb", false)
	m, _ := Join(one, two, base, one)
	if f := m.Finding("0b"); f.Gone != "" || f.Fixed || f.Last != "2026-11-11" || f.Schedule == nil {
		t.Errorf("found by one of two: %+v", f)
	}
	if n, took := m.Test("TestPay").Total(); n != 12+3+4+10 || took != 90*time.Millisecond+3*time.Second {
		t.Errorf("%d executions in %v", n, took)
	}
	base = m
	m, _ = Join(shard("aa", false), one, two)
	if f := m.Finding("0b"); f.Gone == "" || !f.Fixed {
		t.Errorf("gone in the last run: %+v", f)
	}
	if n, _ := m.Test("TestPay").Total(); n != 12+3+4+10+5 {
		t.Errorf("%d executions", n)
	}
}

// part returns a folder with a memory.
func part(t *testing.T, m *Memory) *Folder {
	t.Helper()
	f := opened(t)
	if err := f.put(key.name(), m); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestMerge: folders are merged into one, with what is there. To merge them again, or in another order, changes nothing.
func TestMerge(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		var parts []*Folder
		for range 3 {
			parts = append(parts, part(t, randomMemory(rng, 2)))
		}
		to := part(t, randomMemory(rng, 1))
		other := &Folder{filepath.Join(t.TempDir(), "other")}
		if err := os.CopyFS(other.path, os.DirFS(to.path)); err != nil {
			t.Fatal(err)
		}
		var written []string
		for _, merge := range [][]*Folder{parts, {parts[2], parts[0]}, {to}} {
			m, err := to.Merge(merge...)
			if err != nil || len(m.Unread) > 0 || len(m.Memories) != 1 {
				t.Fatalf("%+v, %v", m, err)
			}
			_, text := read(t, to)
			written = append(written, text)
		}
		if _, err := other.Merge(parts[1], parts[2], parts[1], parts[0]); err != nil {
			t.Fatal(err)
		}
		_, text := read(t, other)
		for _, one := range written {
			if one != text {
				t.Fatalf("%s\nthen\n%s", one, text)
			}
		}
	}
}

// TestMergeForeign: what cannot be read, or is about another package, is named, stays as it is, and changes nothing.
func TestMergeForeign(t *testing.T) {
	written := text(t, sample())
	for what, foreign := range map[string]string{
		"another version": "heisen corpus 99\n",
		"truncated":       written[:len(written)/2],
		"no text":         "\x00\xff",
		"another package": strings.Replace(written, "example.org/shop", "example.org/other", 1),
	} {
		for _, known := range []bool{false, true} {
			to, bad := opened(t), opened(t)
			if known {
				to = part(t, sample())
			}
			file := filepath.Join(bad.path, key.name())
			if err := os.WriteFile(file, []byte(foreign), 0o600); err != nil {
				t.Fatal(err)
			}
			m, err := to.Merge(bad, part(t, sample()))
			if err != nil || len(m.Unread) != 1 || strings.Contains(m.Unread[0].Error(), "\n") {
				t.Errorf("%s: %+v, %v", what, m, err)
			}
			if stays, err := os.ReadFile(file); err != nil || string(stays) != foreign {
				t.Errorf("%s: the file is %q, %v", what, stays, err)
			}
			if _, got := read(t, to); got != written && (known || what != "another package") {
				t.Errorf("%s: the memory is %s", what, got)
			}
		}
	}
	to, bad := part(t, sample()), opened(t)
	if err := os.Symlink(filepath.Join(to.path, key.name()), filepath.Join(bad.path, key.name())); err != nil {
		t.Skip(err)
	}
	if m, err := to.Merge(bad); err != nil || len(m.Unread) != 1 {
		t.Errorf("a link: %+v, %v", m, err)
	}
	if err := os.WriteFile(filepath.Join(to.path, key.name()), []byte("heisen corpus 99\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if m, err := to.Merge(part(t, sample())); err != nil || len(m.Unread) != 1 || len(m.Memories) != 0 {
		t.Errorf("a later version is there: %+v, %v", m, err)
	}
	if _, err := Existing(filepath.Join(to.path, "none")); err == nil {
		t.Error("a folder that does not exist is read")
	}
}
