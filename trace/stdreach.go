package trace

import (
	"bytes"
	"strconv"

	"github.com/heisen-go/heisen"
)

// In a text trace, the set of objects that a hidden call reaches follows the operation. The set of
//
//	hide(f)=o(x)o16(0xc000012340)t(T1)
//
// has x, 16 bytes and a thread. Without a set, the call reaches all objects. The word for
// heisen.Synchronized takes the place of a set.

var hideWord = []byte("hide(")

const (
	reachesNothing = "none"
	synchronized   = "synchronized"
	objectWord     = "o"
	threadWord     = "t"
)

// parseReach reads a set of objects.
func (r *STDReader) parseReach(text []byte) (_ heisen.Reach, reason string) {
	var spans []heisen.Span
	switch {
	case string(text) == synchronized:
		return heisen.Synchronized, ""
	case string(text) == reachesNothing:
		text = nil
	case len(text) == 0:
		return 0, "empty set of objects: " + strconv.Quote(reachesNothing) + " stands for it"
	}
	for len(text) > 0 {
		head, rest, ok := bytes.Cut(text, []byte(")"))
		word, name, open := bytes.Cut(head, []byte("("))
		if !ok || !open || bytes.IndexByte(name, '(') >= 0 {
			return 0, "bad set of objects"
		}
		text = rest
		if len(name) == 0 {
			return 0, "empty name"
		}
		word, digits := cutDigits(word)
		size := uint64(1)
		if len(digits) > 0 {
			if size, ok = parseNumber(digits); !ok || size == 0 {
				return 0, "bad size " + strconv.Quote(string(digits)) + " in a set of objects"
			}
		}
		switch {
		case string(word) == threadWord && len(digits) == 0:
			t, reason := r.thread(name)
			if reason != "" {
				return 0, reason
			}
			spans = append(spans, heisen.Span{Start: heisen.ThreadObject(t), Len: 1})
		case string(word) == objectWord:
			if o, ok := parseAddress(name); ok {
				span := heisen.Span{Start: o, Len: size}
				if !areAddresses(span) {
					return 0, "size " + strconv.FormatUint(size, 10) + " passes the end of addresses in a set of objects"
				}
				spans = append(spans, span)
				continue
			}
			numbers, isNew, reason := r.objects.named(name, size)
			if reason != "" {
				return 0, reason
			}
			for _, o := range numbers {
				if isNew {
					r.symbols.SetName(o, string(name))
				}
				spans = append(spans, heisen.Span{Start: o, Len: size})
			}
		default:
			return 0, "unknown word " + strconv.Quote(string(word)) + " in a set of objects"
		}
	}
	return r.symbols.AddReach(heisen.NewObjects(spans...)), ""
}

// appendReach appends the set of objects that a hidden call reaches. A set that does not fit a line, or
// has a span that is longer than the object of its name or passes the end of addresses, becomes the set
// of all objects.
func (w *STDWriter) appendReach(b []byte, r heisen.Reach) []byte {
	if r == heisen.Synchronized {
		return append(append(b, '='), synchronized...)
	}
	if int(r) < len(w.reaches) && w.reaches[r] != "" {
		return append(b, w.reaches[r]...)
	}
	if r == 0 || w.symbols == nil || int(r) >= w.symbols.NumReaches() {
		return b
	}
	start := len(b)
	b = append(b, '=')
	objects := w.symbols.Reach(r)
	if len(objects) == 0 {
		b = append(b, reachesNothing...)
	}
	for _, s := range objects {
		var ok bool
		if b, ok = w.appendSpan(b, s); !ok || len(b)-start > maxLine/2 {
			return b[:start]
		}
	}
	for len(w.reaches) <= int(r) {
		w.reaches = append(w.reaches, "")
	}
	w.reaches[r] = string(b[start:])
	return b
}

func (w *STDWriter) appendSpan(b []byte, s heisen.Span) (_ []byte, ok bool) {
	if t, ok := s.Start.AsThread(); ok && t < MaxThreads {
		b = append(append(b, threadWord...), '(')
		b = append(append(b, w.thread(t)...), ')')
		if s.Len > 1 { // threads in a row
			return w.appendSpan(b, heisen.Span{Start: s.Start + 1, Len: s.Len - 1})
		}
		return b, true
	}
	if isAddress(s.Start) {
		b = w.appendObject(b, "0x"+strconv.FormatUint(uint64(s.Start), 16), s.Len)
		return b, areAddresses(s)
	}
	texts, ok := w.names(s)
	for _, text := range texts {
		b = w.appendObject(b, text, s.Len)
	}
	return b, ok
}

func (w *STDWriter) appendObject(b []byte, text string, size uint64) []byte {
	b = append(b, objectWord...)
	if size > 1 {
		b = strconv.AppendUint(b, size, 10)
	}
	b = append(append(b, '('), text...)
	return append(b, ')')
}

// names returns the texts of the variable and of the lock at the start of a span. If only one of
// the two has a text, the other one gets the same, as in the reader. ok is false if an object has
// fewer bytes than the span.
func (w *STDWriter) names(s heisen.Span) (texts []string, ok bool) {
	if s.Len > highNamesEnd-highNames {
		return nil, false
	}
	keys := [...]stdObject{{variableClass, s.Start}, {lockClass, s.Start}}
	first, known := w.objects[keys[0]]
	if !known {
		first, known = w.objects[keys[1]]
	}
	if !known {
		first = stdText{w.symbols.Name(s.Start), nameSize(s.Len)}
	}
	for _, key := range keys {
		text, ok := w.objects[key]
		if !ok {
			text = first
			if !known || w.taken[stdName{key.class, first.text}] {
				text.text = w.unique(key.class, first.text, uint64(s.Start))
			}
			w.taken[stdName{key.class, text.text}] = true
			w.objects[key] = text
			first, known = text, true
		}
		if text.size < s.Len {
			return nil, false
		}
		if len(texts) == 0 || texts[0] != text.text {
			texts = append(texts, text.text)
		}
	}
	return texts, true
}

// knownReach reports whether the Value of a Hide is the number of one of n sets of objects, or
// heisen.Synchronized.
func knownReach(value, n uint64) bool { return value < n || value == uint64(heisen.Synchronized) }
