package build

import (
	"slices"
	"strings"
	"testing"
)

func TestStackAdvice(t *testing.T) {
	for printed, want := range map[string][]string{
		"": nil,
		"# ns\nmain.access: nosplit stack over 1592 byte limit\nmain.access<1>\n    grows 1552 bytes, calls runtime.racefuncenter<1>\n": {"access of package main"},
		"example.com/m%2ev/p.(*T).f: nosplit stack over 1592 byte limit\nexample.com/m%2ev/p.(*T).f<1>":                                 {"(*T).f of package example.com/m.v/p"},
		"a/b.f: nosplit stack over 792 byte limit\nx\na/b.g: nosplit stack over 792 byte limit\na/b.f: nosplit stack over 792 byte limit": {
			"f of package a/b", "g of package a/b"},
		"./main.go:3: undefined: nosplit": nil,
	} {
		got := StackAdvice(printed)
		for i, line := range got {
			got[i], _, _ = strings.Cut(line, " does not grow")
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q", printed, got)
		}
	}
}
