package cli

import (
	"maps"
	"slices"
	"strings"
)

// The flags of the go command, of all supported releases. The value says whether a flag takes a
// value; the others are boolean. TestGoFlags compares the tables with the help of the installed go
// command.
var (
	// goBuildFlags are flags of go build, which go run and go test have, too.
	goBuildFlags = map[string]bool{
		"C": true, "a": false, "n": false, "p": true, "race": false, "msan": false, "asan": false,
		"cover": false, "covermode": true, "coverpkg": true, "v": false, "work": false, "x": false,
		"asmflags": true, "buildmode": true, "buildvcs": false, "compiler": true, "gccgoflags": true,
		"gcflags": true, "installsuffix": true, "json": false, "ldflags": true, "linkshared": false,
		"mod": true, "modcacherw": false, "modfile": true, "overlay": true, "pgo": true, "pkgdir": true,
		"tags": true, "trimpath": false, "toolexec": true,
		// These are not in the help.
		"debug-actiongraph": true, "debug-runtime-trace": true, "debug-trace": true,
	}

	// goRunFlags are flags of go run only.
	goRunFlags = map[string]bool{"exec": true}

	// goOutputFlags are flags of go build only.
	goOutputFlags = map[string]bool{"o": true}

	// goTestFlags are flags that go test itself handles, besides those of go build.
	goTestFlags = map[string]bool{"c": false, "exec": true, "o": true, "vet": true}

	// goBinaryFlags are flags that go test also passes to the test binary. There they have the
	// prefix "test.", with which go test knows them, too.
	goBinaryFlags = map[string]bool{
		"artifacts": false, "bench": true, "benchmem": false, "benchtime": true, "blockprofile": true,
		"blockprofilerate": true, "count": true, "coverprofile": true, "cpu": true, "cpuprofile": true,
		"failfast": false, "fullpath": false, "fuzz": true, "fuzzminimizetime": true, "fuzztime": true,
		"list": true, "memprofile": true, "memprofilerate": true, "mutexprofile": true,
		"mutexprofilefraction": true, "outputdir": true, "parallel": true, "run": true, "short": false,
		"shuffle": true, "skip": true, "timeout": true, "trace": true, "v": false,
	}
)

// refused are flags of the go command that cannot work under heisen, and why; see Tool.named.
var refused = map[string]string{
	"race": "$heisen looks for races itself",
	"msan": "the compiler instruments memory accesses for one tool at a time",
	"asan": "the compiler instruments memory accesses for one tool at a time",
	"C":    "it must be the first argument after the command",
}

// goFlagNamed finds a flag of go build, go run or go test, or none without a verb. It returns the
// name without the prefix "test.".
func goFlagNamed(verb, name string) (short string, takesValue, known bool) {
	tables := []map[string]bool{goRunFlags, goBuildFlags}
	switch verb {
	case "":
		return "", false, false
	case "test":
		if takesValue, known = goBinaryFlags[strings.TrimPrefix(name, "test.")]; known {
			return strings.TrimPrefix(name, "test."), takesValue, true
		}
		tables[0] = goTestFlags
	case "build":
		tables[0] = goOutputFlags
	}
	for _, table := range tables {
		if takesValue, known = table[name]; known {
			return name, takesValue, true
		}
	}
	return "", false, false
}

// goFlagNames returns the names of the flags of go build, go run or go test that are in its help, or
// none without a verb.
func goFlagNames(verb string) []string {
	if verb == "" {
		return nil
	}
	all := maps.Clone(goBuildFlags)
	switch verb {
	case "build":
		maps.Copy(all, goOutputFlags)
	case "run":
		maps.Copy(all, goRunFlags)
	case "test":
		maps.Copy(all, goTestFlags)
		maps.Copy(all, goBinaryFlags)
		all["args"] = false
	}
	maps.DeleteFunc(all, func(name string, _ bool) bool { return strings.HasPrefix(name, "debug-") })
	return slices.Sorted(maps.Keys(all))
}
