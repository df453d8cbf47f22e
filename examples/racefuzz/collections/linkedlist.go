package main

// link is an element of a linkedList.
type link struct {
	value      int
	next, prev *link
}

// linkedList is a ring of links. The head is no element. It counts how often it was changed.
type linkedList struct {
	head     *link
	length   int
	modified int
}

func newLinkedList() *linkedList {
	head := new(link)
	head.next, head.prev = head, head
	return &linkedList{head: head}
}

func (l *linkedList) size() int { return l.length }

func (l *linkedList) find(x int) *link {
	for e := l.head.next; e != l.head; e = e.next {
		if e.value == x {
			return e
		}
	}
	return nil
}

func (l *linkedList) contains(x int) bool { return l.find(x) != nil }

func (l *linkedList) add(x int) bool {
	e := new(link)
	e.value = x     // race:linked.value
	e.next = l.head // race:linked.new
	e.prev = l.head.prev
	e.prev.next = e // race:linked.add
	l.head.prev = e
	l.length++   // race:linked.add.length
	l.modified++ // race:linked.add.modified
	return true
}

func (l *linkedList) remove(x int) bool {
	e := l.find(x)
	if e == nil {
		return false
	}
	l.unlink(e)
	return true
}

// unlink removes an element.
func (l *linkedList) unlink(e *link) {
	e.prev.next = e.next // race:linked.unlink
	e.next.prev = e.prev
	e.next, e.prev = nil, nil // race:linked.cut
	l.length--                // race:linked.remove.length
	l.modified++              // race:linked.remove.modified
}

func (l *linkedList) clear() {
	for l.head.next != l.head {
		l.unlink(l.head.next)
	}
}

func (l *linkedList) iterator() iterator {
	return &linkedIterator{l: l, at: l.head.next, modified: l.modified}
}

type linkedIterator struct {
	l           *linkedList
	at          *link // the next one
	i, modified int
}

func (it *linkedIterator) hasNext() bool {
	return it.i != it.l.length // race:linked.hasnext
}

func (it *linkedIterator) next() int {
	if it.modified != it.l.modified { // race:linked.check
		panic(errModified)
	}
	if it.i == it.l.length { // race:linked.end
		panic(errNoMore)
	}
	x := it.at.value   // race:linked.get
	it.at = it.at.next // race:linked.next
	it.i++
	return x
}
