package library

import (
	"container/list"
	"container/ring"
	"flag"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"sort"
	"testing"
)

func useList() func() {
	l := list.New()
	return func() { l.PushBack(1) }
}

func TestRaceList(t *testing.T)   { race(t, useList()) }
func TestNoRaceList(t *testing.T) { noRace(t, useList()) }

func useRing() func() {
	r := ring.New(4)
	return func() { r.Link(ring.New(1)) }
}

func TestRaceRing(t *testing.T)   { race(t, useRing()) }
func TestNoRaceRing(t *testing.T) { noRace(t, useRing()) }

func useHeader() func() {
	h := http.Header{}
	return func() { h.Set("Accept", "text/plain") }
}

func TestRaceHeader(t *testing.T)   { race(t, useHeader()) }
func TestNoRaceHeader(t *testing.T) { noRace(t, useHeader()) }

func useValues() func() {
	v := url.Values{}
	return func() { v.Add("a", "b") }
}

func TestRaceValues(t *testing.T)   { race(t, useValues()) }
func TestNoRaceValues(t *testing.T) { noRace(t, useValues()) }

func useFlagSet() func() {
	f := flag.NewFlagSet("", flag.ContinueOnError)
	f.Int("n", 0, "")
	return func() { f.Set("n", "1") }
}

func TestRaceFlagSet(t *testing.T)   { race(t, useFlagSet()) }
func TestNoRaceFlagSet(t *testing.T) { noRace(t, useFlagSet()) }

func useSortSlice() func() {
	s := []int{3, 1, 2}
	return func() { sort.Slice(s, func(i, j int) bool { return i > j }) }
}

func TestRaceSortSlice(t *testing.T)   { race(t, useSortSlice()) }
func TestNoRaceSortSlice(t *testing.T) { noRace(t, useSortSlice()) }

func useSortInts() func() {
	s := []int{3, 1, 2, 5, 4}
	return func() { sort.Sort(sort.Reverse(sort.IntSlice(s))) }
}

func TestRaceSortInts(t *testing.T)   { race(t, useSortInts()) }
func TestNoRaceSortInts(t *testing.T) { noRace(t, useSortInts()) }

func useSlices() func() {
	s := []int{3, 1, 2, 5, 4}
	return func() { slices.Reverse(s) }
}

func TestRaceSlices(t *testing.T)   { race(t, useSlices()) }
func TestNoRaceSlices(t *testing.T) { noRace(t, useSlices()) }

func useReflectSetInt() func() {
	var n int
	v := reflect.ValueOf(&n).Elem()
	return func() { v.SetInt(1) }
}

func TestRaceReflectSetInt(t *testing.T)   { race(t, useReflectSetInt()) }
func TestNoRaceReflectSetInt(t *testing.T) { noRace(t, useReflectSetInt()) }

func useReflectCopy() func() {
	v := reflect.ValueOf(make([]int, 4))
	return func() { reflect.Copy(v, reflect.ValueOf([]int{1, 2})) }
}

func TestRaceReflectCopy(t *testing.T)   { race(t, useReflectCopy()) }
func TestNoRaceReflectCopy(t *testing.T) { noRace(t, useReflectCopy()) }

func useReflectMap() func() {
	v := reflect.ValueOf(map[string]int{})
	return func() { v.SetMapIndex(reflect.ValueOf("a"), reflect.ValueOf(1)) }
}

func TestRaceReflectMap(t *testing.T)   { race(t, useReflectMap()) }
func TestNoRaceReflectMap(t *testing.T) { noRace(t, useReflectMap()) }
