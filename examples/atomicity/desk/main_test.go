package main

import (
	"bytes"
	"testing"
)

func TestRun(t *testing.T) {
	var out bytes.Buffer
	if run(&out, false); out.String() != "300 tickets left\n" {
		t.Error(out.String())
	}
}
