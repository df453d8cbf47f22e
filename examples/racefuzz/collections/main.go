// Command collections shares two collections between goroutines, like the drivers with which
// RaceFuzzer tested Java's collections (Sen, PLDI 2008, sections 5.1 and 5.3). A decorator,
// synchronized, holds the collection's lock in each method. But methods that take another
// collection (addAll, containsAll, equal) iterate over that one, and the iterator does not lock:
// only the call that creates it does. So other goroutines can change that collection during the
// iteration. In Java, for example,
//
//	l1.containsAll(l2)     in one thread,
//	l2.clear()             in another,
//
// ends in a ConcurrentModificationException or a NoSuchElementException. Here it ends in a panic:
// "concurrent modification", "no such element", or one for an index or a nil pointer.
//
// The flag -of selects the collection: vector, arraylist, linkedlist, hashset or treeset. vector is
// like that of JDK 1.1: its methods lock by themselves, except those that only read the length, and
// its iterators stop silently at the current end.
//
// The races are between each read of an iterator and each write of a method to the same variable:
// the count of modifications, the length, the value of an element, the link to the next one. The
// writes that initialize an element before it is linked do not race, because the iterator reaches
// the element only through the link.
//
// With -fixed the decorator copies the other collection first, under its lock.
//
//	heisen run -detect hybrid ./examples/racefuzz/collections -of treeset
//	heisen run -detect hybrid ./examples/racefuzz/collections -of treeset -fixed
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"sync"
)

var (
	errModified = errors.New("concurrent modification")
	errNoMore   = errors.New("no such element")
)

// collection has the methods of all collections. The bulk operations are methods of synchronized.
type collection interface {
	size() int
	contains(x int) bool
	add(x int) bool    // reports whether x was not in a set
	remove(x int) bool // reports whether x was there
	clear()
	iterator() iterator
}

// iterator iterates over a collection. It panics if the collection is changed in between.
type iterator interface {
	hasNext() bool
	next() int
}

// kinds has the constructors of the collections.
var kinds = map[string]func() collection{
	"vector":     func() collection { return new(vector) },
	"arraylist":  func() collection { return new(arrayList) },
	"linkedlist": func() collection { return newLinkedList() },
	"hashset":    func() collection { return newHashSet() },
	"treeset":    func() collection { return new(treeSet) },
}

const elements = 8

func main() {
	of := flag.String("of", "arraylist", "vector, arraylist, linkedlist, hashset or treeset")
	fixed := flag.Bool("fixed", false, "copy the other collection under its lock")
	flag.Parse()
	kind := kinds[*of]
	if kind == nil || flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "collections: there is no collection %q\n", *of)
		os.Exit(2)
	}

	one, other := &synchronized{c: kind(), copies: *fixed}, &synchronized{c: kind(), copies: *fixed}
	for x := range elements {
		one.add(x)
		other.add(x)
	}
	both := one.containsAll(other) && one.equal(other)

	var working sync.WaitGroup
	working.Go(func() { one.containsAll(other) })
	working.Go(func() { one.equal(other) })
	working.Go(func() { one.addAll(other) })
	working.Go(func() {
		other.add(elements)
		other.remove(1)
		other.clear()
		other.add(elements + 1)
	})
	working.Wait()

	if !both || !one.contains(1) || other.contains(1) {
		panic("an element is where it should not be")
	}
	fmt.Printf("%s: all elements are where they should be\n", *of)
}
