package observed

import (
	"cmp"
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/report"
)

// MisuseDetector is the Detector of calls that package testing forbids.
const MisuseDetector = "misuse"

// endsOnlyItself is the end of a message about the end of a goroutine that was to be that of a test.
const endsOnlyItself = " of a test is called by a goroutine that does not run the test, and ends only this goroutine"

// MisuseOf returns a call that package testing forbids as a finding, at the line of the program. It is none if nothing in the program has led to
// it: at the end of a test, package testing itself says that there was a race.
func MisuseOf(m recorder.Misuse, symbols *heisen.Symbols) (f heisen.Finding, is bool) {
	a := heisen.Access{Op: heisen.Call, Thread: m.Thread, Site: m.Site, Context: m.Context, Labels: m.Labels}
	call, name := callInProgram(a, symbols)
	if name == "" && m.Late {
		return f, false
	}
	f = heisen.Finding{Detector: MisuseDetector, Kind: heisen.Misuse, Accesses: []heisen.Access{call}}
	switch {
	case m.Late:
		f.Message = name + lateUse
	case m.Skips:
		f.Message = cmp.Or(name, "SkipNow") + endsOnlyItself
	default:
		f.Message = cmp.Or(name, "FailNow") + endsOnlyItself
	}
	return f, true
}

// AddMisuse adds a finding unless there is one for the call. A use after the end of a test says more than one that was in time.
func AddMisuse(all []report.Finding, f report.Finding) []report.Finding {
	for i := range f.Accesses {
		f.Accesses[i].LocksUnknown, f.Accesses[i].Locks = true, []report.Lock{} // package testing holds some
	}
	at := slices.IndexFunc(all, func(known report.Finding) bool { return known.Fingerprint == f.Fingerprint })
	if at < 0 {
		return append(all, f)
	}
	if InTime(&all[at]) {
		all[at] = f
	}
	return all
}

// IsObserved reports whether a finding is a failure, or one of Observations, and no suspect that was tried.
func IsObserved(f *report.Finding) bool {
	return f.Kind == heisen.Failure || f.Detector == LeakDetector || f.Detector == unstoppableDetector || f.Detector == RaceDetector || f.Detector == MisuseDetector
}

// A test that does not wait for a goroutine may end before the goroutine uses it, as by t.Log or t.Errorf. That is
// one mistake, at one line of the program, but it shows in several ways: as races in package testing, on what the end
// of the test changes, as a use after the end, and as a panic. All of them are one finding here.

// The ends of messages about the use of a test.
const (
	lateUse      = " of a test is called by a goroutine after the test has ended"
	notAwaited   = " of a test is called by a goroutine for which the test does not wait"
	testingFuncs = "testing."
	runtimeFuncs = "runtime."
)

// IsLateUse reports whether a finding is the use of a test by a goroutine for which the test does not wait.
func IsLateUse(f *report.Finding) bool {
	return f.Kind == heisen.Misuse && (strings.HasSuffix(f.Message, lateUse) || InTime(f))
}

// InTime reports whether the test had not ended in the execution with the finding.
func InTime(f *report.Finding) bool {
	return f.Kind == heisen.Misuse && strings.HasSuffix(f.Message, notAwaited)
}

// Attributed returns a race in package testing, between the end of a test and a goroutine that uses the test, as what
// it is. Other findings remain as they are.
func Attributed(f heisen.Finding, symbols *heisen.Symbols) heisen.Finding {
	if f.Kind != heisen.Race || len(f.Accesses) != 2 || symbols == nil {
		return f
	}
	for i := range f.Accesses {
		user, end := f.Accesses[i], f.Accesses[1-i]
		if !inTesting(end, symbols) || !inTesting(user, symbols) || !endsTest(end, symbols) {
			continue
		}
		if call, name := callInProgram(user, symbols); name != "" {
			how := notAwaited
			if i == 1 && hasFrame(end, symbols, "testing.tRunner.func") { // it came after the end
				how = lateUse
			}
			return heisen.Finding{Detector: MisuseDetector, Kind: heisen.Misuse, Message: name + how, Accesses: []heisen.Access{call}}
		}
	}
	return f
}

// inTesting reports whether an access is made by package testing.
func inTesting(a heisen.Access, symbols *heisen.Symbols) bool {
	frames := symbols.Site(a.Site).Frames
	return len(frames) > 0 && strings.HasPrefix(frames[0].Func, testingFuncs)
}

// endsTest reports whether an access is made by package testing for itself, where it runs tests.
func endsTest(a heisen.Access, symbols *heisen.Symbols) bool {
	return inHarness(reportFrames(symbols.Stack(a.Site, a.Context)))
}

func hasFrame(a heisen.Access, symbols *heisen.Symbols, prefix string) bool {
	return slices.ContainsFunc(symbols.Stack(a.Site, a.Context), func(f heisen.Frame) bool { return strings.HasPrefix(f.Func, prefix) })
}

// reportFrames returns frames as in reports, without those of the runtime.
func reportFrames(frames []heisen.Frame) (all []report.Frame) {
	for _, f := range frames {
		if !strings.HasPrefix(f.Func, "runtime.") && f.File != "<autogenerated>" {
			all = append(all, report.Frame{Func: f.Func, File: f.File, Line: f.Line})
		}
	}
	return all
}

// callInProgram returns an access in package testing as the call in the program that has led to it, and the name of
// the method that is called there; an empty name if there is none.
func callInProgram(a heisen.Access, symbols *heisen.Symbols) (call heisen.Access, name string) {
	call, called := CallerOf(a, symbols, func(f heisen.Frame) bool {
		return strings.HasPrefix(f.Func, testingFuncs) || strings.HasPrefix(f.Func, runtimeFuncs) || f.File == "_testmain.go"
	})
	return call, called[strings.LastIndexByte(called, '.')+1:]
}

// CallerOf returns an access in some functions as the call that has led to it, in another function, and the function that is
// called there. It returns the access and an empty name if there is none.
func CallerOf(a heisen.Access, symbols *heisen.Symbols, inside func(heisen.Frame) bool) (call heisen.Access, called string) {
	site, cursor := a.Site, symbols.Cursor(a.Context)
	for _, next := range append(symbols.Calls(a.Context), 0) {
		info := symbols.Site(site)
		for i, f := range info.Frames {
			if inside(f) {
				if called == "" || strings.HasPrefix(called, runtimeFuncs) || !strings.HasPrefix(f.Func, runtimeFuncs) { // not what calls a deferred function
					called = f.Func
				}
				continue
			}
			if called == "" {
				return a, ""
			}
			if i > 0 { // the compiler has inlined the others
				info.Frames = info.Frames[i:]
				site = symbols.AddSite(info)
			}
			call = heisen.Access{Op: heisen.Call, Thread: a.Thread, Site: site, Context: symbols.Context(cursor), Labels: a.Labels}
			return call, called
		}
		if next == 0 {
			break
		}
		site, cursor = next, symbols.Return(cursor)
	}
	return a, ""
}
