package store_test

import (
	"testing"

	"example.com/m/store"
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
