package library

import (
	"go/types"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/cespare/xxhash/v2"
	"github.com/google/btree"
	"golang.org/x/tools/go/types/typeutil"
)

func useBTree() func() {
	t := btree.NewOrderedG[int](8)
	return func() { t.ReplaceOrInsert(1) }
}

func TestRaceBTree(t *testing.T)   { race(t, useBTree()) }
func TestNoRaceBTree(t *testing.T) { noRace(t, useBTree()) }

func useRoaring() func() {
	b := roaring.New()
	return func() { b.Add(1) }
}

func TestRaceRoaring(t *testing.T)   { race(t, useRoaring()) }
func TestNoRaceRoaring(t *testing.T) { noRace(t, useRoaring()) }

func useXxHash() func() {
	d := xxhash.New()
	return func() { d.WriteString("some text") }
}

func TestRaceXXHash(t *testing.T)   { race(t, useXxHash()) }
func TestNoRaceXXHash(t *testing.T) { noRace(t, useXxHash()) }

func useTypeMap() func() {
	var m typeutil.Map
	return func() { m.Set(types.Typ[types.Int], 1) }
}

func TestRaceTypeMap(t *testing.T)   { race(t, useTypeMap()) }
func TestNoRaceTypeMap(t *testing.T) { noRace(t, useTypeMap()) }
