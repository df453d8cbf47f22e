package observed

import (
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/recorder"
)

// TestMisuseOf: a use of a test is at the line of the program, also if a deferred function makes it. What package testing does by itself, such as
// telling of a race at the end of a test, is no misuse.
func TestMisuseOf(t *testing.T) {
	frames := func(names ...string) (all []heisen.Frame) {
		for i, name := range names {
			all = append(all, heisen.Frame{Func: name, File: strings.SplitN(name, ".", 2)[0] + ".go", Line: i + 1})
		}
		return all
	}
	for _, test := range []struct {
		stack []heisen.Frame
		want  string // the message's beginning, and the function
	}{
		{frames("testing.(*common).log", "testing.(*common).Log", "shop.TestA.func1"), "Log of shop.TestA.func1"},
		{frames("testing.(*common).Log", "runtime.deferreturn", "shop.TestA.func1", "runtime.goexit"), "Log of shop.TestA.func1"},
		{frames("testing.(*common).Errorf", "testing.(*common).checkRaces", "testing.tRunner.func1", "runtime.deferreturn", "testing.(*T).Run.gowrap1"), ""},
	} {
		symbols := heisen.NewSymbols()
		site := symbols.AddSite(heisen.SiteInfo{Frames: test.stack})
		got := ""
		if f, is := MisuseOf(recorder.Misuse{Site: site, Late: true}, symbols); is {
			name, _, _ := strings.Cut(f.Message, " ")
			got = name + " of " + symbols.Site(f.Accesses[0].Site).Frames[0].Func
		}
		if got != test.want {
			t.Errorf("%v: got %q, want %q", test.stack, got, test.want)
		}
	}
}
