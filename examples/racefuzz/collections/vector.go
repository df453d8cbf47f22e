package main

// vector is an array that grows. Its iterators end at the current end of the vector.
type vector struct {
	data  []int // longer than the vector if there is room for more elements
	count int
}

func (v *vector) size() int { return v.count }

func (v *vector) contains(x int) bool {
	for _, y := range v.data[:v.count] {
		if x == y {
			return true
		}
	}
	return false
}

func (v *vector) add(x int) bool {
	if v.count == len(v.data) {
		data := make([]int, 2*v.count+4)
		copy(data, v.data)
		v.data = data
	}
	v.data[v.count] = x // race:vector.set
	v.count++           // race:vector.add
	return true
}

func (v *vector) remove(x int) bool {
	for i, y := range v.data[:v.count] {
		if x == y {
			copy(v.data[i:], v.data[i+1:v.count]) // race:vector.shift
			v.count--                             // race:vector.remove
			return true
		}
	}
	return false
}

func (v *vector) clear() {
	v.count = 0 // race:vector.clear
}

func (v *vector) iterator() iterator { return &vectorIterator{v: v} }

type vectorIterator struct {
	v *vector
	i int
}

func (it *vectorIterator) hasNext() bool {
	return it.i < it.v.count // race:vector.hasnext
}

// next returns the next element. It never panics, but the element may no longer be in the vector.
func (it *vectorIterator) next() int {
	data := it.v.data
	it.i++
	return data[it.i-1] // race:vector.next
}
