// Command collections shares two collections between goroutines, as the drivers do
// with which RaceFuzzer looked at Java's (Sen, PLDI 2008, sections 5.1 and 5.3). A
// decorator, synchronized, takes the collection's lock around each method. But methods
// that take another collection (addAll, containsAll, equal) go over that one with an
// iterator, and the iterator does not lock: only the call that makes it did. So what
// others do with that collection comes in between. In Java that is
//
//	l1.containsAll(l2)     in one thread,
//	l2.clear()             in another,
//
// and ends in a ConcurrentModificationException or a NoSuchElementException. Here it
// ends in a panic: "concurrent modification", "no such element", or that of an index
// or a nil pointer.
//
// -of says which collection: vector, as in JDK 1.1, whose methods lock by themselves
// but for those that only look at the length, and whose iterators stop quietly at what
// is the end by then; or arraylist, linkedlist, hashset or treeset.
//
// What really races is each read of an iterator with each write of a method to the same
// variable: the count of modifications, the length, what an element is, where the next
// one is. What an element was made with before it was linked in does not: the iterator
// comes to the element only through the link.
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

// collection is what all collections can do. The bulk operations are functions below.
type collection interface {
	size() int
	contains(x int) bool
	add(x int) bool    // reports whether x was not in a set
	remove(x int) bool // reports whether there was one
	clear()
	iterator() iterator
}

// iterator goes over a collection. It panics if somebody changes it meanwhile.
type iterator interface {
	hasNext() bool
	next() int
}

// kinds make collections.
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
