package fasttrack

import (
	"errors"
	"testing"
)

// TestNotes: an object has its note until its memory is cleared, beside objects at other bytes of its word.
func TestNotes(t *testing.T) {
	if err := ReserveMemory(); errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	defer ReleaseMemory()
	table, word := new(Table), new(Word)
	c := &word.Cell
	note := func(addr uint64, want uint32) {
		t.Helper()
		head := c.Lock()
		got := table.Note(head, addr)
		c.Unlock(head)
		if got != want {
			t.Errorf("the object at %d has note %d, want %d", addr, got, want)
		}
	}
	set := func(addr uint64, n uint32) { c.Unlock(table.SetNote(c.Lock(), addr, n)) }

	note(64, 0)
	if table.Noted(c) {
		t.Error("a word without objects has a note")
	}
	set(64, 7)
	set(68, 9)
	set(64, 8)
	note(64, 8)
	note(68, 9)
	note(65, 0)
	if !table.Noted(c) {
		t.Error("no note")
	}
	table.Clear(c, 0x0F) // the first object's half of the word
	note(64, 0)
	note(68, 9)
	table.Clear(c, bytesMask)
	set(64, 1)
	note(68, 0)
	table.Clear(c, bytesMask)
	if table.Noted(c) {
		t.Error("a note is left of a word that was cleared")
	}
}
