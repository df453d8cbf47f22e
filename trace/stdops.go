package trace

import (
	"bytes"
	"math"
	"strconv"

	"github.com/heisen-go/heisen"
)

// stdWord is the text of an Op.
type stdWord struct {
	word     string
	class    objectClass // class of the name in parentheses
	required bool        // whether there must be a name
}

// stdWords has the text of each Op.
var stdWords = [heisen.NumOps]stdWord{
	heisen.Read:          {"r", variableClass, true},
	heisen.Write:         {"w", variableClass, true},
	heisen.Done:          {"done", variableClass, true},
	heisen.AtomicRead:    {"ar", variableClass, true},
	heisen.AtomicWrite:   {"aw", variableClass, true},
	heisen.AtomicUpdate:  {"au", variableClass, true},
	heisen.Acquire:       {"acq", lockClass, true},
	heisen.Release:       {"rel", lockClass, true},
	heisen.AcquireShared: {"racq", lockClass, true},
	heisen.ReleaseShared: {"rrel", lockClass, true},
	heisen.Fork:          {"fork", threadClass, true},
	heisen.Begin:         {"start", sectionClass, false},
	heisen.End:           {"stop", sectionClass, false},
	heisen.Join:          {"join", threadClass, true},
	heisen.Send:          {"send", variableClass, true},
	heisen.Receive:       {"recv", variableClass, true},
	heisen.Call:          {"call", sectionClass, false},
	heisen.Return:        {"return", sectionClass, false},
	heisen.Enter:         {"begin", sectionClass, false},
	heisen.Exit:          {"end", sectionClass, false},
	heisen.Hide:          {"hide", sectionClass, true},
	heisen.Reveal:        {"reveal", sectionClass, true},
	heisen.Branch:        {"branch", sectionClass, false},
	heisen.Alloc:         {"alloc", variableClass, true},
	heisen.Free:          {"free", variableClass, true},
	heisen.Change:        {"change", variableClass, true},
	heisen.Observe:       {"observe", variableClass, true},
}

// requestWord says that a thread is about to acquire a lock. It orders and changes nothing, so
// there is no Op for it and the reader ignores it.
const requestWord = "req"

// gapWord begins a line that says what the recording leaves out. Such lines stand before the first event.
const gapWord = "lacks"

// hasLength reports whether the text of op may have a length and a value, such as w4(x)=17.
func hasLength(op heisen.Op) bool { return op.IsAccess() || op == heisen.Done }

// hasRange reports whether the text of op has the length of a range, such as alloc(x,64).
func hasRange(op heisen.Op) bool { return op == heisen.Alloc || op == heisen.Free }

// stdOp is what a text of an operation always means, in whichever line it is.
type stdOp struct {
	obj  heisen.Object
	val  uint64
	len  uint16
	code heisen.Op // Invalid for a request, which is no event
}

// parseOp reads an operation without its value. If there is no such operation, reason says why.
func (r *STDReader) parseOp(text []byte) (op stdOp, reason string) {
	if bytes.HasPrefix(text, hideWord) {
		var set []byte
		if i := bytes.Index(text, []byte(")=")); i >= 0 {
			text, set = text[:i+1], text[i+2:]
			reach, reason := r.parseReach(set)
			if reason != "" {
				return op, reason
			}
			op.val = uint64(reach)
		}
	}
	word, arg, hasArg := bytes.Cut(text, []byte("("))
	if hasArg {
		var closed bool
		if arg, closed = bytes.CutSuffix(arg, []byte(")")); !closed {
			return op, "no closing parenthesis at the end of the operation"
		}
		if bytes.ContainsAny(arg, "()") {
			return op, "parenthesis within a name"
		}
	} else if bytes.IndexByte(word, ')') >= 0 {
		return op, "closing parenthesis without an opening one"
	}
	word, digits := cutDigits(word)
	code := heisen.Op(0)
	for i := range stdWords {
		if i > 0 && stdWords[i].word == string(word) {
			code = heisen.Op(i)
		}
	}
	form := stdWords[code]
	if code == heisen.Invalid {
		if string(word) == gapWord && hasArg {
			return op, r.gap(string(arg))
		}
		if string(word) != requestWord {
			return op, "unknown operation " + strconv.Quote(string(word))
		}
		form = stdWord{requestWord, lockClass, true}
	}
	op.code = code
	if len(digits) > 0 {
		n, err := strconv.ParseUint(string(digits), 10, 16)
		if !hasLength(code) || err != nil || n == 0 || digits[0] == '0' {
			return op, "bad length " + strconv.Quote(string(digits)) + " after " + strconv.Quote(form.word)
		}
		op.len = uint16(n)
	}
	if !hasArg {
		if form.required {
			return op, strconv.Quote(form.word) + " without a name in parentheses"
		}
		return op, ""
	}
	size := uint64(op.len)
	if hasRange(code) {
		comma := bytes.LastIndexByte(arg, ',')
		if comma < 0 {
			return op, strconv.Quote(form.word) + " without a size: " + form.word + "(name,bytes)"
		}
		n, ok := parseNumber(arg[comma+1:])
		if !ok {
			return op, "bad size " + strconv.Quote(string(arg[comma+1:]))
		}
		arg, op.val, size = arg[:comma], n, n
	}
	if len(arg) == 0 {
		return op, "empty name"
	}
	switch {
	case code == heisen.Invalid:
	case form.class == threadClass:
		var t heisen.Thread
		t, reason = r.thread(arg)
		op.obj = heisen.Object(t)
	default:
		op.obj, reason = r.object(form.class, arg, size)
	}
	return op, reason
}

// gap adds a gap.
func (r *STDReader) gap(text string) (reason string) {
	if r.events > 0 {
		return "a gap after the first event"
	}
	if err := r.gaps.add(text); err != nil {
		return err.Error()
	}
	return ""
}

// object returns the number of the object with the given text.
func (r *STDReader) object(class objectClass, text []byte, size uint64) (heisen.Object, string) {
	if o, ok := parseAddress(text); ok {
		return o, ""
	}
	o, isNew, reason := r.objects.number(class, text, size)
	if isNew {
		r.symbols.SetName(o, string(text))
	}
	return o, reason
}

// cutDigits cuts decimal digits off the end of a word.
func cutDigits(word []byte) (letters, digits []byte) {
	i := len(word)
	for i > 0 && word[i-1] >= '0' && word[i-1] <= '9' {
		i--
	}
	return word[:i], word[i:]
}

// parseNumber reads an unsigned decimal number: digits only, no leading zero.
func parseNumber(text []byte) (n uint64, ok bool) {
	if len(text) == 0 || text[0] == '0' && len(text) > 1 {
		return 0, false
	}
	for _, d := range text {
		if d < '0' || d > '9' {
			return 0, false
		}
		digit := uint64(d - '0')
		if n > (math.MaxUint64-digit)/10 {
			return 0, false
		}
		n = n*10 + digit
	}
	return n, true
}
