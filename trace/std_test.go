package trace_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/testaid/must"
	"github.com/heisen-go/heisen/trace"
)

// event is an STD event by names, as the reference below sees it.
type event struct {
	Thread, Op, Arg, Site string
	Held                  []string // locks of the thread just before, in order of acquisition
}

var stdLine = regexp.MustCompile(`^([^|]*)\|(\w+)(?:\(([^()|]*)\))?(?:\|(.*))?$`)

// naiveSTD reads plain STD text line by line with a regular expression and
// keeps held locks as lists: an independent reference for the reader.
func naiveSTD(t *testing.T, text string) (events []event) {
	t.Helper()
	held := map[string][]string{}
	for line := range strings.Lines(text) {
		m := stdLine.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		if m == nil {
			t.Fatalf("reference cannot read %q", line)
		}
		e := event{Thread: m[1], Op: m[2], Arg: m[3], Site: m[4]}
		e.Held = append(e.Held, held[e.Thread]...)
		events = append(events, e)
		switch h := held[e.Thread]; e.Op {
		case "acq":
			held[e.Thread] = append(h, e.Arg)
		case "rel":
			for i := len(h) - 1; i >= 0; i-- {
				if h[i] == e.Arg {
					held[e.Thread] = append(append([]string{}, h[:i]...), h[i+1:]...)
					break
				}
			}
		}
	}
	return events
}

var stdOps = map[heisen.Op]string{
	heisen.Read: "r", heisen.Write: "w", heisen.Acquire: "acq", heisen.Release: "rel",
	heisen.Fork: "fork", heisen.Join: "join", heisen.Enter: "begin", heisen.Exit: "end",
}

// byNames says records by the names in symbols.
func byNames(records []heisen.Record, symbols *heisen.Symbols) (events []event) {
	for _, r := range records {
		e := event{Thread: symbols.Thread(r.Thread).Name, Op: stdOps[r.Op], Site: symbols.Site(r.Site).Text}
		switch r.Op {
		case heisen.Fork, heisen.Join:
			e.Arg = symbols.Thread(r.Object.Thread()).Name
		case heisen.Enter, heisen.Exit:
		default:
			e.Arg = symbols.Name(r.Object)
		}
		for _, h := range symbols.Locks(r.Context) {
			e.Held = append(e.Held, symbols.Name(h.Lock))
		}
		events = append(events, e)
	}
	return events
}

func TestSTDReaderAgreesWithReference(t *testing.T) {
	corpus(t, func(t *testing.T, _ string, text []byte) {
		records, symbols := readSTD(t, string(text))
		want := naiveSTD(t, string(text))
		if diff := cmp.Diff(want, byNames(records, symbols)); diff != "" {
			t.Errorf("reader differs from reference (-want +got):\n%s", diff)
		}
		for _, r := range records {
			if r.Op.IsAccess() && (r.Object == 0 || r.Object%8 != 0) {
				t.Fatalf("variable number %d is not a positive multiple of 8", r.Object)
			}
		}
	})
}

// Whatever pieces the input comes in, the records are the same.
func TestSTDReaderInPieces(t *testing.T) {
	text, err := os.ReadFile("testdata/corpus/std/t000.std")
	if err != nil {
		t.Fatal(err)
	}
	want, _ := readSTD(t, string(text))
	for name, in := range map[string]io.Reader{
		"one byte": iotest.OneByteReader(bytes.NewReader(text)),
		"half":     iotest.HalfReader(bytes.NewReader(text)),
		"data err": iotest.DataErrReader(bytes.NewReader(text)),
	} {
		got, err := collect(must.Make(trace.NewSTDReader(in)), 3)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: error %v, difference (-want +got):\n%s", name, err, diff)
		}
	}
}

func TestSTDLines(t *testing.T) {
	for _, c := range []struct {
		text string
		want string // printed
	}{
		{"T0|r(V)|5\n", "1 T0 read V at 5"},
		{"T0|r(V)\n", "1 T0 read V"},
		{"T0|r(V)|\n", "1 T0 read V"},
		{"T0|r(V)|5\r\n\r\n  \n\nT0|w(V)|6\r\n", "1 T0 read V at 5\n2 T0 write V at 6"},
		{"\uFEFFT0|r(V)|5\nT0|r(V)|5\n", "1 T0 read V at 5\n2 T0 read V at 5"},
		{"main thread|w(über x, y)|f.go:12 (*T).m\n", "1 main thread write über x, y at f.go:12 (*T).m"},
		{"T0|r(V)|a|b\n", "1 T0 read V at a|b"},
		{"T0|req(L)|1\nT0|acq(L)|2\nT0|branch|3\nT0|rel(L)|4\n", "1 T0 acquire L at 2\n2 T0 branch - at 3  holding L\n3 T0 release L at 4  holding L"},
		{"T0|begin|1\nT0|end|2\n", "1 T0 enter - at 1\n2 T0 exit - at 2"},
		{"T0|begin(pay)|1\nT0|end(pay)|2\n", "1 T0 enter pay at 1\n2 T0 exit pay at 2"},
		{"T0|w4(x)=17|1\nT0|r(x)=18446744073709551615|2\n", "1 T0 write x = 17  4 bytes at 1\n2 T0 read x = 18446744073709551615 at 2"},
		{"T0|w16(0xc000012340)|1\n", "1 T0 write 0xc000012340  16 bytes at 1"},
		{"T0|alloc(x,64)|1\nT0|w64(x)|1\nT0|free(x,64)|2\n", "1 T0 alloc x  64 bytes at 1\n2 T0 write x  64 bytes at 1\n3 T0 free x  64 bytes at 2"},
		{"T0|alloc(a,b,8)|1\n", "1 T0 alloc a,b  8 bytes at 1"},
		{"T0|racq(L)|1\nT0|r(x)|2\nT0|rrel(L)|3\n", "1 T0 acquire-shared L at 1\n2 T0 read x at 2  holding L (shared)\n3 T0 release-shared L at 3  holding L (shared)"},
		{"T0|call|1\nT0|r(x)|2\nT0|return\nT0|w(x)|2\n", "1 T0 call - at 1\n2 T0 read x at 2  calls 1\n3 T0 return -  calls 1\n4 T0 write x at 2"},
		{"T0|fork(T1)|1\nT1|start|2\nT1|stop|3\nT0|join(T1)|4\n", "1 T0 fork T1 at 1\n2 T1 begin - at 2\n3 T1 end - at 3\n4 T0 join T1 at 4"},
		{"T0|send(m)|1\nT1|recv(m)|2\nT1|ar(a)\nT1|aw(a)\nT1|au(a)\nT1|done(a)\n", "1 T0 send m at 1\n2 T1 receive m at 2\n3 T1 atomic-read a\n4 T1 atomic-write a\n5 T1 atomic-update a\n6 T1 done a"},
		{"T0|hide(f)|1\nT0|reveal(f)|2\n", "1 T0 hide f  reaches everything at 1\n2 T0 reveal f at 2"},
		{"T0|hide(f)=none|1\n", "1 T0 hide f  reaches nothing at 1"},
		{"T0|hide(f)=synchronized|1\n", "1 T0 hide f  synchronized at 1"},
		{"T0|acq(L)\nT0|hide(f)=o(x)o(L)o64(0xc000012340)t(T1)|1\nT0|rel(x)\nT0|w(x)\n",
			"1 T0 acquire L\n2 T0 hide f reaches L, x, 0xc000012340+64, T1 at 1  holding L\n3 T0 release x holding L\n4 T0 write x holding L"},
		{"T0|rel(L)|1\nT0|r(x)|1\n", "1 T0 release L at 1\n2 T0 read x at 1"},
		{"T0|acq(A)|1\nT0|acq(B)|2\nT0|rel(A)|3\nT0|r(x)|4\n", "1 T0 acquire A at 1\n2 T0 acquire B at 2  holding A\n3 T0 release A at 3  holding A, B\n4 T0 read x at 4  holding B"},
		{"", ""},
		{"\n\n", ""},
	} {
		records, symbols := readSTD(t, c.text)
		var got bytes.Buffer
		p := must.Make(trace.NewPrinter(&got, symbols))
		handleAll(p, records)
		if err := p.Flush(); err != nil {
			t.Fatal(err)
		}
		if got := squeeze(got.String()); got != squeeze(c.want) {
			t.Errorf("%q reads as\n%s\nwant\n%s", c.text, got, c.want)
		}
	}
}

var spaces = regexp.MustCompile(` +`)

func squeeze(s string) string {
	var lines []string
	for line := range strings.Lines(s) {
		lines = append(lines, strings.TrimSpace(spaces.ReplaceAllString(line, " ")))
	}
	return strings.Join(lines, "\n")
}

// The same name in two classes is two objects, and their numbers are far
// enough apart for what is accessed.
func TestSTDObjects(t *testing.T) {
	records, symbols := readSTD(t, "T|r(x)\nT|acq(x)\nT|begin(x)\nT|alloc(y,100)\nT|w(z)\nT|w(0x1000)\nT|w(0xc000)\nT|w(0xc0000100)\nT|acq(0xc0000100)\n")
	var got []heisen.Object
	for _, r := range records {
		got = append(got, r.Object)
	}
	want := []heisen.Object{8, 16, 24, 32, 136, 144, 152, 0xc0000100, 0xc0000100}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("object numbers (-want +got):\n%s", diff)
	}
	for i, name := range []string{"x", "x", "x", "y", "z", "0x1000", "0xc000", "0xc0000100", "0xc0000100"} {
		if symbols.Name(got[i]) != name {
			t.Errorf("name of %d is %q, want %q", got[i], symbols.Name(got[i]), name)
		}
	}
}

// However many names there are, no two share a byte, and none stands where
// addresses do.
func TestSTDManyNames(t *testing.T) {
	var text strings.Builder
	const names = 1<<17 + 100
	for i := range names {
		fmt.Fprintf(&text, "T|w(v%d)\n", i)
	}
	fmt.Fprintf(&text, "T|w(0x100000)\nT|w(0x100000000000)\n")
	records, symbols := readSTD(t, text.String())
	seen := map[heisen.Object]bool{}
	for _, r := range records {
		if r.Object%8 != 0 || seen[r.Object] {
			t.Fatalf("number %#x of %s is taken or not a multiple of 8", uint64(r.Object), symbols.Name(r.Object))
		}
		seen[r.Object] = true
	}
	if o := records[names].Object; o != 1<<20 {
		t.Errorf("address 0x100000 got number %#x", uint64(o))
	}
	if o := records[names+1].Object; o == 1<<44 {
		t.Error("a text that looks like an address among names got the number of a name")
	}
}

func TestSTDForkInfo(t *testing.T) {
	records, symbols := readSTD(t, "main|acq(L)|1\nmain|fork(child)|2\nchild|r(x)|3\nmain|fork(child)|4\n")
	info := symbols.Thread(records[1].Object.Thread())
	want := heisen.ThreadInfo{Name: "child", Forked: true, Parent: records[0].Thread, Site: records[1].Site, Context: records[1].Context}
	if info != want {
		t.Errorf("child is %+v, want %+v", info, want)
	}
	if records[2].Thread != records[1].Object.Thread() {
		t.Error("the forked thread is not the one that acts")
	}
	if main := symbols.Thread(records[0].Thread); main.Forked || main.Name != "main" {
		t.Errorf("main is %+v", main)
	}
}

func TestSTDSyntaxErrors(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"hello", `line 2: no | after the thread in "hello"`},
		{"# comment", `line 2: no | after the thread in "# comment"`},
		{"|r(V)|1", `line 2: empty thread in "|r(V)|1"`},
		{"T(0)|r(V)|1", `line 2: parenthesis within a name in "T(0)|r(V)|1"`},
		{"T0|", `line 2: unknown operation "" in "T0|"`},
		{"T0||1", `line 2: unknown operation "" in "T0||1"`},
		{"T0|foo(V)|1", `line 2: unknown operation "foo" in "T0|foo(V)|1"`},
		{"T0|invalid(V)|1", `line 2: unknown operation "invalid" in "T0|invalid(V)|1"`},
		{"T0|R(V)|1", `line 2: unknown operation "R" in "T0|R(V)|1"`},
		{"T0| r(V)|1", `line 2: unknown operation " r" in "T0| r(V)|1"`},
		{"T0|r(V|1", `line 2: no closing parenthesis at the end of the operation in "T0|r(V|1"`},
		{"T0|r(V) |1", `line 2: no closing parenthesis at the end of the operation in "T0|r(V) |1"`},
		{"T0|rV)|1", `line 2: closing parenthesis without an opening one in "T0|rV)|1"`},
		{"T0|r(a(b))|1", `line 2: parenthesis within a name in "T0|r(a(b))|1"`},
		{"T0|r()|1", `line 2: empty name in "T0|r()|1"`},
		{"T0|r|1", `line 2: "r" without a name in parentheses in "T0|r|1"`},
		{"T0|req|1", `line 2: "req" without a name in parentheses in "T0|req|1"`},
		{"T0|fork()|1", `line 2: empty name in "T0|fork()|1"`},
		{"T0|fork|1", `line 2: "fork" without a name in parentheses in "T0|fork|1"`},
		{"T0|r0(V)|1", `line 2: bad length "0" after "r" in "T0|r0(V)|1"`},
		{"T0|r04(V)|1", `line 2: bad length "04" after "r" in "T0|r04(V)|1"`},
		{"T0|w65536(0xc000000000)|1", `line 2: bad length "65536" after "w" in "T0|w65536(0xc000000000)|1"`},
		{"T0|acq4(L)|1", `line 2: bad length "4" after "acq" in "T0|acq4(L)|1"`},
		{"T0|hide(f)=o9(0x0)|1", `line 2: size 9 passes the end of addresses in a set of objects in "T0|hide(f)=o9(0x0)|1"`},
		{"T0|hide(f)=o2(0xfffffffffff)|1", `line 2: size 2 passes the end of addresses in a set of objects in "T0|hide(f)=o2(0xfffffffffff)|1"`},
		{"T0|hide(f)=o2(0xffffffffffff)|1", `line 2: size 2 passes the end of addresses in a set of objects in "T0|hide(f)=o2(0xffffffffffff)|1"`},
		{"T0|begin4|1", `line 2: bad length "4" after "begin" in "T0|begin4|1"`},
		{"T0|w(V)=|1", `line 2: bad value after = in "T0|w(V)=|1"`},
		{"T0|w(V)=x|1", `line 2: bad value after = in "T0|w(V)=x|1"`},
		{"T0|w(V)=18446744073709551616|1", `line 2: bad value after = in "T0|w(V)=18446744073709551616|1"`},
		{"T0|acq(L)=1|1", `line 2: value of an operation that has none in "T0|acq(L)=1|1"`},
		{"T0|req(L)=1|1", `line 2: value of an operation that has none in "T0|req(L)=1|1"`},
		{"T0|alloc(x)|1", `line 2: "alloc" without a size: alloc(name,bytes) in "T0|alloc(x)|1"`},
		{"T0|alloc(x,-1)|1", `line 2: bad size "-1" in "T0|alloc(x,-1)|1"`},
		{"T0|alloc(,8)|1", `line 2: empty name in "T0|alloc(,8)|1"`},
		{"T0|free(y,99999999999999)|1", `line 2: size out of range in "T0|free(y,99999999999999)|1"`},
		{"T0|w16(x)|1", `line 2: name was given 8 bytes where it first stood, not 16 in "T0|w16(x)|1"`},
		{"T0|\x00\n", `line 2: unknown operation "\x00" in "T0|\x00"`},
		{strings.Repeat("x", 100), `line 2: no | after the thread in "` + strings.Repeat("x", 80) + `"`},
	} {
		r := must.Make(trace.NewSTDReader(strings.NewReader("T0|r(x)|1\n" + c.line + "\nT0|r(x)|1\n")))
		records, err := collect(r, 10)
		if len(records) != 1 {
			t.Errorf("%q: %d records before the error, want 1", c.line, len(records))
		}
		var syntax *trace.SyntaxError
		if !errors.As(err, &syntax) || syntax.Line != 2 {
			t.Errorf("%q: error %v, want a SyntaxError of line 2", c.line, err)
			continue
		}
		if err.Error() != c.want {
			t.Errorf("%q:\n got %s\nwant %s", c.line, err, c.want)
		}
		if n, again := r.Next(make([]heisen.Record, 1)); n != 0 || again != err {
			t.Errorf("%q: Next after the error: %d, %v", c.line, n, again)
		}
	}
}

func TestSTDLongLine(t *testing.T) {
	const limit = 1 << 20
	fits := "T0|r(x)|" + strings.Repeat("s", limit-100) + "\n"
	if records, _ := readSTD(t, fits); len(records) != 1 {
		t.Errorf("%d records", len(records))
	}
	_, err := collect(must.Make(trace.NewSTDReader(strings.NewReader(fits+strings.Repeat("T", 10*limit)))), 10)
	var syntax *trace.SyntaxError
	if !errors.As(err, &syntax) || syntax.Line != 2 || !strings.Contains(err.Error(), "more than 1048576 bytes") {
		t.Errorf("endless line: error %.200v", err)
	}
}

// Locks that are released far out of order cost contexts; a trace that does
// nothing else is stopped before memory is.
func TestSTDHostileLockOrder(t *testing.T) {
	var text strings.Builder
	const locks = 2000
	for i := range locks {
		fmt.Fprintf(&text, "T|acq(L%d)\n", i)
	}
	for i := range 100 * locks {
		fmt.Fprintf(&text, "T|rel(L%d)|%d\nT|acq(L%d)|%d\n", i%locks, i, i%locks, i)
	}
	r := must.Make(trace.NewSTDReader(strings.NewReader(text.String())))
	_, err := collect(r, 1000)
	var syntax *trace.SyntaxError
	if !errors.As(err, &syntax) || syntax.Reason != "too many locks are held and released out of order" {
		t.Errorf("error %v", err)
	}
}

// Cut at any byte, the complete lines are read, and so is the rest if it is a whole event. Otherwise it is
// an error.
func TestSTDTruncation(t *testing.T) {
	const text = "T0|fork(T1)|129\nT0|acq(L)|one\r\nT0|w(Vx)=12|14\n\nT1|begin|2\n"
	want, _ := readSTD(t, text)
	for cut := range len(text) + 1 {
		complete := strings.LastIndexByte(text[:cut], '\n') + 1
		rest := text[complete:cut]
		whole := regexp.MustCompile(`^(T.\|[^|]+\|.+|T0\|fork\(T1\)|\r)$`).MatchString(rest)
		if whole {
			complete = cut
		}
		prefix, _ := readSTD(t, text[:complete]+"\n")
		r := must.Make(trace.NewSTDReader(strings.NewReader(text[:cut])))
		got, err := collect(r, 10)
		if diff := cmp.Diff(prefix, got); diff != "" {
			t.Errorf("cut at %d (-want +got):\n%s", cut, diff)
		}
		if whole && len(got) > 0 {
			got[len(got)-1].Site = want[len(got)-1].Site // which may have been cut
		}
		if diff := cmp.Diff(want[:len(got)], got); diff != "" && len(got) > 0 {
			t.Errorf("cut at %d: no prefix of the whole (-want +got):\n%s", cut, diff)
		}
		line := strings.Count(text[:cut], "\n") + 1
		var truncated *trace.TruncatedError
		switch {
		case cut == complete:
			if err != nil {
				t.Errorf("cut at %d: error %v at the end of a line", cut, err)
			}
		case !errors.Is(err, trace.ErrTruncated) || !errors.As(err, &truncated) || truncated.Line != line:
			t.Errorf("cut at %d: error %v, want a TruncatedError of line %d", cut, err, line)
		}
	}
}

// A reader goes on when its input has grown.
func TestSTDGrowing(t *testing.T) {
	const text = "T0|fork(T1)|129\nT0|acq(L)|one\nT0|w(V)|14\nT1|r(V)|2\n"
	want, _ := readSTD(t, text)
	for at := range len("T0|w(V)|") {
		var in bytes.Buffer
		r := must.Make(trace.NewSTDReader(&in))
		var got []heisen.Record
		batch := make([]heisen.Record, 10)
		for line := range strings.Lines(text) {
			in.WriteString(line[:at])
			if n, err := r.Next(batch); n != 0 || at > 0 && !errors.Is(err, trace.ErrTruncated) || at == 0 && err != io.EOF {
				t.Fatalf("after %q of %q: %d records, %v", line[:at], line, n, err)
			}
			in.WriteString(line[at:])
			n, err := r.Next(batch)
			if n != 1 || err != nil {
				t.Fatalf("after %q, which came in two parts: %d records, %v", line, n, err)
			}
			got = append(got, batch[:n]...)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// The last line needs no newline. When it gets one after all, the reader goes on; when the line itself goes
// on, what was delivered was wrong.
func TestSTDLastLine(t *testing.T) {
	const text = "T0|fork(T1)|129\nT1|w(V)|2"
	want, _ := readSTD(t, text+"\n")
	for _, c := range []struct{ more, then string }{
		{"", "EOF"},
		{"\n", "EOF"},
		{"\r\n", "EOF"},
		{"\nT0|r(V)|3", "r"},
		{"\r\nT0|r(V)|3\n", "r"},
		{"3\n", `line 2: the trace had ended before in "3"`},
		{"\r3\nT0|r(V)|3\n", "line 2: the trace had ended before in \"\\r3\""},
	} {
		in := bytes.NewBufferString(text)
		r := must.Make(trace.NewSTDReader(in))
		got, err := collect(r, 10)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Fatalf("error %v (-want +got):\n%s", err, diff)
		}
		in.WriteString(c.more)
		batch := make([]heisen.Record, 10)
		n, err := r.Next(batch)
		switch {
		case c.then == "r" && n == 1 && err == nil && batch[0].Op == heisen.Read:
		case c.then != "r" && n == 0 && err != nil && err.Error() == c.then:
		default:
			t.Errorf("then %q: %d records, error %v, want %s", c.more, n, err, c.then)
		}
	}
}

// What is no whole event at the end is cut off, whatever the lines before look like.
func TestSTDLastLineInPart(t *testing.T) {
	for text, whole := range map[string]bool{
		"T0|w(V)": true, "T0|w(V)\nT1|r(V)": true, "T0|begin": true, "T0|w(V)|a b": true, "T0|w(V)=12": true, "T0|req(L)|1": true,
		"T0|w(V)|1\nT1|r(V)": false, "T0|w(V)|": false, "T0|w(V": false, "T0|w": false, "T0|": false, "T0": false,
		"T0|w(V)|1\nT0|w(V)=1": false, "T0|hide(f)=o8(0x10": false, "T0|alloc(x,1": false,
	} {
		_, err := collect(must.Make(trace.NewSTDReader(strings.NewReader(text))), 10)
		if whole && err != nil || !whole && !errors.Is(err, trace.ErrTruncated) {
			t.Errorf("%q: error %v, want one only if it is no whole event", text, err)
		}
	}
}

func TestReadErrorIsReported(t *testing.T) {
	broken := errors.New("cable pulled")
	in := io.MultiReader(strings.NewReader("T0|r(x)|1\n"), iotest.ErrReader(broken))
	records, err := collect(must.Make(trace.NewSTDReader(in)), 10)
	if len(records) != 1 || !errors.Is(err, broken) {
		t.Errorf("%d records, %v", len(records), err)
	}
}

// In steady state the reader allocates nothing.
func TestSTDReaderAllocations(t *testing.T) {
	loop := "T0|acq(L)|1\nT0|r(x)|2\nT0|call|8\nT0|w(x)=7|3\nT0|return|9\nT0|rel(L)|4\nT1|send(m)|5\n"
	r := must.Make(trace.NewSTDReader(strings.NewReader(strings.Repeat(loop, 20000))))
	batch := make([]heisen.Record, 700)
	next := func() {
		if n, err := r.Next(batch); n == 0 {
			t.Fatal(err)
		}
	}
	next()
	if n := testing.AllocsPerRun(50, next); n != 0 {
		t.Errorf("%v allocations in 700 events", n)
	}
}
