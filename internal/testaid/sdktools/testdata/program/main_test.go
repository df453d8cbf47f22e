package main

import "testing"

func TestRacy(t *testing.T) {
	n := 0
	race(&n)
}
