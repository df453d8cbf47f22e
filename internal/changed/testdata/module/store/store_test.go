package store_test

import (
	"testing"

	"example.com/m/store"
	. "example.com/m/words"
)

func TestNames(t *testing.T) {
	if len(store.Names()) != 2 {
		t.Error(store.Names())
	}
}

func TestFind(t *testing.T) {
	if err := store.Find(""); err != nil {
		t.Error(err)
	}
}

func TestAlone(t *testing.T) {}

func TestFail(t *testing.T) {
	if text := store.Fail().Error(); text != "failed" {
		t.Error(text)
	}
}

type names struct{ Set[string] }

func TestEmbedded(t *testing.T) {
	var n names
	n.Add("a")
}
