package trace

import (
	"bytes"
	"strconv"

	"github.com/heisen-go/heisen"
)

// In a text trace an object is a name or an address. A name gets a number of
// its own; an address, written 0x with lower-case hexadecimal digits as
// Symbols.Name prints it, is its own number, so that ranges and overlaps of
// recorded programs survive the text. Names and addresses never meet: names
// live in [8, 1 MiB) and, when that is full, in a tebibyte from 1<<44 on, where
// neither Go's heap nor its data segments lie; what is written like an address
// but lies there is a name.
const (
	lowNames      = 8
	lowNamesEnd   = 1 << 20
	highNames     = 1 << 44
	highNamesEnd  = highNames + 1<<40
	addressesEnd  = 1 << 48
	nameAlignment = 8
)

// isAddress reports whether o stands in text as the number it is. 0 does: it
// is the object of events that happened to nothing in particular.
func isAddress(o heisen.Object) bool {
	return o == 0 || o >= lowNamesEnd && o < addressesEnd && (o < highNames || o >= highNamesEnd)
}

// parseAddress reads an address: canonical, so that no two texts are the same
// one.
func parseAddress(text []byte) (heisen.Object, bool) {
	digits, ok := bytes.CutPrefix(text, []byte("0x"))
	if !ok || len(digits) == 0 || len(digits) > 12 || digits[0] == '0' && len(digits) > 1 {
		return 0, false
	}
	var o heisen.Object
	for _, d := range digits {
		switch {
		case d >= '0' && d <= '9':
			d -= '0'
		case d >= 'a' && d <= 'f':
			d -= 'a' - 10
		default:
			return 0, false
		}
		o = o<<4 | heisen.Object(d)
	}
	return o, isAddress(o)
}

// objectClass is one of the name spaces of a text trace: the same name in two
// classes is two objects.
type objectClass uint8

const (
	noClass       objectClass = iota
	variableClass             // variables, atomics and messages
	lockClass
	sectionClass // transactions, calls, untraced code
	threadClass
)

// namedObjects gives numbers to the names of a text trace.
type namedObjects struct {
	names   interner // class byte and name
	objects []namedObject
	low     heisen.Object
	high    heisen.Object
	key     []byte
}

type namedObject struct {
	number heisen.Object
	size   uint64 // bytes from number on that are this object's alone
}

func newNamedObjects() namedObjects {
	return namedObjects{names: newInterner(), low: lowNames, high: highNames}
}

// named returns the numbers of whatever is called name in a set of objects: the
// variable and the lock. What has no number yet gets the same as the other, as
// the set does not say which of the two is meant.
func (n *namedObjects) named(name []byte, size uint64) (numbers []heisen.Object, isNew bool, reason string) {
	classes := [...]objectClass{variableClass, lockClass}
	var known [2]*namedObject
	for i, class := range classes {
		n.key = append(append(n.key[:0], byte(class)), name...)
		if id, ok := n.names.find(n.key); ok {
			known[i] = &n.objects[id]
		}
	}
	switch {
	case known[0] == nil && known[1] == nil:
		var o heisen.Object
		if o, _, reason = n.number(variableClass, name, size); reason != "" {
			return nil, false, reason
		}
		isNew = true
		n.alias(lockClass, name, namedObject{o, nameSize(size)})
		return []heisen.Object{o}, true, ""
	case known[0] == nil:
		n.alias(variableClass, name, *known[1])
		known[0] = known[1]
	case known[1] == nil:
		n.alias(lockClass, name, *known[0])
		known[1] = known[0]
	}
	numbers = []heisen.Object{known[0].number}
	if known[1].number != known[0].number {
		numbers = append(numbers, known[1].number)
	}
	if size > known[0].size {
		return nil, false, "name was given " + strconv.FormatUint(known[0].size, 10) + " bytes where it first stood, not " + strconv.FormatUint(size, 10)
	}
	return numbers, false, ""
}

// alias makes name, which is new in class, a name of an object that has a number.
func (n *namedObjects) alias(class objectClass, name []byte, o namedObject) {
	n.key = append(append(n.key[:0], byte(class)), name...)
	n.names.add(n.key)
	n.objects = append(n.objects, o)
}

// nameSize is how many bytes a name gets that is first touched over size bytes.
func nameSize(size uint64) uint64 {
	return max(size+nameAlignment-1, nameAlignment) &^ (nameAlignment - 1)
}

// number returns the number of a name that an event touches over size bytes,
// and whether the name is new. reason is not empty if it cannot have that many.
func (n *namedObjects) number(class objectClass, name []byte, size uint64) (o heisen.Object, isNew bool, reason string) {
	n.key = append(append(n.key[:0], byte(class)), name...)
	if id, ok := n.names.find(n.key); ok {
		known := n.objects[id]
		if size > known.size {
			return 0, false, "name was given " + strconv.FormatUint(known.size, 10) + " bytes where it first stood, not " + strconv.FormatUint(size, 10)
		}
		return known.number, false, ""
	}
	if size > highNamesEnd-highNames {
		return 0, false, "size out of range"
	}
	size = nameSize(size)
	next, end := &n.low, heisen.Object(lowNamesEnd)
	if uint64(end-*next) < size {
		next, end = &n.high, highNamesEnd
	}
	if uint64(end-*next) < size {
		return 0, false, "size out of range"
	}
	o = *next
	*next += heisen.Object(size)
	n.names.add(n.key)
	n.objects = append(n.objects, namedObject{o, size})
	return o, true, ""
}
