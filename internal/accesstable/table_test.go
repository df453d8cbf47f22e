package accesstable

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// someTable is a table with places of each form.
func someTable() *Table {
	return &Table{text: 1 << 20, Places: []Place{
		{PC: 16, Disp: -8, First: 0x48, Base: 0, Index: NoRegister, Scale: 1, Size: 8, Kind: Reads},
		{PC: 23, Disp: 1 << 30, First: 0x0f, Base: Text, Index: NoRegister, Scale: 1, Size: 16, Kind: Writes},
		{PC: 1<<20 - 1, First: 0x41, Base: 15, Index: 9, Scale: 8, Size: 1, Kind: Reads | Writes},
	}}
}

// appended returns what is in a file with 5 bytes after Append.
func appended(table *Table) []byte { return append([]byte("hello"), table.encode(5)...) }

// TestFormat: the sampler, which does not share code with this package, finds each field where it is to be.
func TestFormat(t *testing.T) {
	data := appended(someTable())
	want := make([]byte, alignment)
	copy(want, "hello")
	for _, line := range []string{
		"\x10\x00\x00\x00\xf8\xff\xff\xff\x48\x00\x10\x01\x08\x01\x00\x00",
		"\x17\x00\x00\x00\x00\x00\x00\x40\x0f\x11\x10\x01\x10\x02\x00\x00",
		"\xff\xff\x0f\x00\x00\x00\x00\x00\x41\x0f\x09\x08\x01\x03\x00\x00",
		"heisenAT\x01\x00\x00\x00\x03\x00\x00\x00",
		"\x00\x10\x00\x00\x00\x00\x00\x00\x00\x00\x10\x00\x00\x00\x00\x00",
	} {
		want = append(want, line...)
	}
	if !bytes.Equal(data, want) {
		t.Errorf("%q, want %q", data[:5], want[:5])
		t.Errorf("%x, want %x", data[min(alignment, len(data)):], want[alignment:])
	}
}

// TestDamage: a table that was damaged is an error, and one that is not there is ErrNoTable.
func TestDamage(t *testing.T) {
	good := appended(someTable())
	end := len(good) - trailerSize
	change := func(at int, value uint64, size int) []byte {
		data := bytes.Clone(good)
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], value)
		copy(data[at:at+size], word[:])
		return data
	}
	for name, data := range map[string][]byte{
		"version":               change(end+8, 2, 4),
		"too many":              change(end+12, 4, 4),
		"too few":               change(end+12, 2, 4),
		"very many":             change(end+12, 1<<32-1, 4),
		"offset":                change(end+16, 4096+1, 8),
		"offset behind the end": change(end+16, 1<<40, 8),
		"offset wraps around":   change(end+16, 1<<64-4096, 8),
		"text too small":        change(end+24, 100, 8),
		"not sorted":            change(alignment+entrySize, 3, 4),
		"base":                  change(alignment+9, 18, 1),
		"index":                 change(alignment+10, Text, 1),
		"scale":                 change(alignment+11, 3, 1),
		"size":                  change(alignment+12, 65, 1),
		"no size":               change(alignment+12, 0, 1),
		"kind":                  change(alignment+13, 4, 1),
		"reserved":              change(alignment+14, 1, 1),
	} {
		if _, err := read(bytes.NewReader(data), int64(len(data))); err == nil || errors.Is(err, ErrNoTable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, size := range []int{0, 5, trailerSize, len(good) - 1} {
		if _, err := read(bytes.NewReader(good[:size]), int64(size)); !errors.Is(err, ErrNoTable) {
			t.Errorf("the first %d bytes: %v", size, err)
		}
	}
}

// TestNoPrograms: files that are no programs are errors with their names.
func TestNoPrograms(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{empty, filepath.Join(t.TempDir(), "missing"), "table.go"} {
		if _, err := Find(name, name); err == nil || !bytes.Contains([]byte(err.Error()), []byte(filepath.Base(name))) {
			t.Errorf("Find(%s): %v", name, err)
		}
	}
}

// FuzzRead: whatever a file has, reading it does not panic, and a table that can be read is one that Append writes.
func FuzzRead(f *testing.F) {
	f.Add(someTable().encode(0))
	f.Add((&Table{text: 5}).encode(0))
	f.Add([]byte("hello"))
	f.Fuzz(func(t *testing.T, data []byte) {
		table, err := read(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		encoded := table.encode(0)
		again, err := read(bytes.NewReader(encoded), int64(len(encoded)))
		if err != nil || len(again.Places) != len(table.Places) {
			t.Fatalf("%v: written again: %v", table.Places, err)
		}
		for i, p := range table.Places {
			if again.Places[i] != p {
				t.Fatalf("%+v became %+v", p, again.Places[i])
			}
		}
	})
}
