package trace

import (
	"bytes"
	"strconv"

	"github.com/heisen-go/heisen"
)

// An object in a text trace is a name or an address. A name gets a new number. An address, written
// as Symbols.Name prints it, is a number itself, so that ranges and overlaps of recorded programs
// are preserved. The two have separate ranges: names get numbers in [8, 1 MiB), and then in a
// tebibyte from 1<<44 on, where neither the heap nor the data segments of Go programs are. A text
// that looks like an address in these ranges is a name.
const (
	lowNames      = 8
	lowNamesEnd   = 1 << 20
	highNames     = 1 << 44
	highNamesEnd  = highNames + 1<<40
	addressesEnd  = 1 << 48
	nameAlignment = 8
)

// isAddress reports whether the text of o is its number. That includes 0, the object of events that
// concern nothing in particular.
func isAddress(o heisen.Object) bool {
	return o == 0 || o >= lowNamesEnd && o < addressesEnd && (o < highNames || o >= highNamesEnd)
}

// areAddresses reports whether the text of each object of a span is its number.
func areAddresses(s heisen.Span) bool {
	switch o := s.Start; {
	case !isAddress(o):
		return false
	case o < lowNamesEnd:
		return s.Len <= uint64(lowNames-o)
	case o < highNames:
		return s.Len <= uint64(highNames-o)
	default:
		return s.Len <= uint64(addressesEnd-o)
	}
}

// parseAddress reads an address in canonical form, so that different texts are different addresses.
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

// objectClass is a class of names in a text trace. The same name in two classes stands for two
// objects.
type objectClass uint8

const (
	noClass       objectClass = iota
	variableClass             // variables, atomics and messages
	lockClass
	sectionClass // transactions, calls, hidden code
	threadClass
)

// namedObjects numbers the names of a text trace.
type namedObjects struct {
	names *interner[namedObject] // class byte and name
	low   heisen.Object
	high  heisen.Object
	key   []byte
}

type namedObject struct {
	number heisen.Object
	size   uint64 // bytes from number on that belong to this object only
}

func newNamedObjects() namedObjects {
	return namedObjects{names: newInterner[namedObject](), low: lowNames, high: highNames}
}

// named returns the numbers of the variable and of the lock called name, for a set of objects,
// which does not say which of the two it means. If only one of the two has a number, the other one
// gets the same.
func (n *namedObjects) named(name []byte, size uint64) (numbers []heisen.Object, isNew bool, reason string) {
	classes := [...]objectClass{variableClass, lockClass}
	var known [2]*namedObject
	for i, class := range classes {
		n.key = append(append(n.key[:0], byte(class)), name...)
		known[i] = n.names.find(n.key)
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

// alias makes name, which is new in class, a second name of a numbered object.
func (n *namedObjects) alias(class objectClass, name []byte, o namedObject) {
	n.key = append(append(n.key[:0], byte(class)), name...)
	n.names.add(n.key, o)
}

// nameSize returns how many bytes an object gets if its first event touches size bytes.
func nameSize(size uint64) uint64 {
	return max(size+nameAlignment-1, nameAlignment) &^ (nameAlignment - 1)
}

// number returns the number of a name, of which an event touches size bytes, and whether the name
// is new. If the object has fewer bytes, reason says so.
func (n *namedObjects) number(class objectClass, name []byte, size uint64) (o heisen.Object, isNew bool, reason string) {
	n.key = append(append(n.key[:0], byte(class)), name...)
	if known := n.names.find(n.key); known != nil {
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
	n.names.add(n.key, namedObject{o, size})
	return o, true, ""
}
