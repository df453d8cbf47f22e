package main

import "testing"

// TestBugs makes the programs meet, so that a detector sees their accesses. Whether they go wrong is not its subject.
func TestBugs(t *testing.T) {
	for _, b := range bugs {
		t.Run(b.name, func(*testing.T) {
			for range 50 {
				b.run()
			}
		})
	}
}
