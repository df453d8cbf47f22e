package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/recorder"
)

// TestUnrelated: which events are the standard library's own affair.
func TestUnrelated(t *testing.T) {
	folder := t.TempDir()
	symbols := heisen.NewSymbols()
	site := func(function string) heisen.Site {
		return symbols.AddSite(heisen.SiteInfo{Frames: []heisen.Frame{{Func: function, File: "x.go", Line: 1}}})
	}
	for _, pkg := range []string{"fmt", "testing", "internal/poll", "bytes", "container/list", "net/http"} {
		if err := os.MkdirAll(filepath.Join(folder, filepath.FromSlash(pkg)), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name   string
		op     heisen.Op
		object heisen.Object
		inside string
		want   bool
	}{
		{"a printer of a pool", heisen.Write, 8, "fmt.newPrinter", true},
		{"a map of a test", heisen.Read, 8, "testing.(*common).Helper", true},
		{"a lock of a test", heisen.Acquire, 8, "testing.(*common).Helper", true},
		{"a lock within the library", heisen.ReleaseShared, 8, "internal/poll.(*FD).Read", true},
		{"an atomic access within the library", heisen.AtomicUpdate, 8, "internal/poll.(*FD).Read", true},
		{"a buffer of the program", heisen.Write, 8, "bytes.(*Buffer).Write", false},
		{"a list of the program", heisen.Write, 8, "container/list.(*List).PushBack", false},
		{"a header of the program", heisen.Write, 8, "net/http.Header.Set", false},
		{"the program", heisen.Write, 8, "example.com/m.f", false},
		{"a package of the program that has such a name", heisen.Write, 8, "internal/mine.f", false},
		{"what goes through a pool of the library", heisen.Send, 8, "fmt.(*pp).free", true},
		{"what comes out of it", heisen.Receive, 8, "fmt.newPrinter", true},
		{"what goes through a pool of the program", heisen.Send, 8, "example.com/m.f", false},
		{"a message of a test", heisen.Send, 8, "testing.tRunner", false},
		{"a message to the garbage collector", heisen.Send, recorder.Collector, "example.com/m.f", true},
		{"a message of the garbage collector", heisen.Receive, recorder.Collector, "example.com/m.f", true},
		{"a goroutine that a test starts", heisen.Fork, 8, "testing.(*T).Run", false},
	} {
		a := heisen.Access{Op: test.op, Object: test.object, Site: site(test.inside)}
		if is := newUnrelated(origin{symbols: symbols, pkg: "example.com/m"}, folder).is(a); is != test.want {
			t.Errorf("%s: %v, want %v", test.name, is, test.want)
		}
		if test.op.IsAccess() && newUnrelated(origin{symbols: symbols, pkg: "fmt"}, folder).is(a) {
			t.Errorf("%s: it has nothing to do with a test of the library", test.name)
		}
	}
	if newUnrelated(origin{symbols: symbols}, "").is(heisen.Access{Op: heisen.Write, Object: 8, Site: site("fmt.newPrinter")}) {
		t.Error("an access of the library that is not known")
	}
}
