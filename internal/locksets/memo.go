package locksets

// memo is a direct-mapped cache of the results of an operation on two numbers that are not both 0. A
// miss costs only the operation.
type memo [memoSize]struct{ a, b, result uint32 }

const memoSize = 1 << 10

func memoPlace(a, b uint32) uint32 {
	return (a*0x9e3779b1 ^ b*0x85ebca6b) >> 22 // ten bits
}

func (m *memo) get(a, b uint32) (result uint32, ok bool) {
	e := &m[memoPlace(a, b)]
	return e.result, e.a == a && e.b == b
}

func (m *memo) put(a, b, result uint32) {
	e := &m[memoPlace(a, b)]
	e.a, e.b, e.result = a, b, result
}
