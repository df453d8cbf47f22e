package main

// arrayList is an array that grows. It counts how often its length was changed.
type arrayList struct {
	data     []int
	modified int
}

func (l *arrayList) size() int { return len(l.data) }

func (l *arrayList) index(x int) int {
	for i, y := range l.data {
		if x == y {
			return i
		}
	}
	return -1
}

func (l *arrayList) contains(x int) bool { return l.index(x) >= 0 }

func (l *arrayList) add(x int) bool {
	l.modified++               // race:array.add.modified
	l.data = append(l.data, x) // race:array.add
	return true
}

func (l *arrayList) remove(x int) bool {
	i := l.index(x)
	if i < 0 {
		return false
	}
	l.modified++                    // race:array.remove.modified
	copy(l.data[i:], l.data[i+1:])  // race:array.shift
	l.data = l.data[:len(l.data)-1] // race:array.remove
	return true
}

func (l *arrayList) clear() {
	l.modified++        // race:array.clear.modified
	l.data = l.data[:0] // race:array.clear
}

func (l *arrayList) iterator() iterator { return &arrayIterator{l: l, modified: l.modified} }

type arrayIterator struct {
	l           *arrayList
	i, modified int
}

func (it *arrayIterator) hasNext() bool {
	return it.i != len(it.l.data) // race:array.hasnext
}

func (it *arrayIterator) next() int {
	if it.modified != it.l.modified { // race:array.check
		panic(errModified)
	}
	data := it.l.data // race:array.data
	if it.i >= len(data) {
		panic(errNoMore)
	}
	it.i++
	return data[it.i-1] // race:array.next
}
