package accesstable

import (
	"path"
	"strings"
)

// neverSampled reports whether a package is not sampled: the runtime and what it is made of, because a
// handler of signals may run it; package syscall, because the child of a fork does; what synchronizes, and reads beside its
// atomic operations by design; and what compares its own code with a sum.
func neverSampled(pkg string) bool {
	switch first, rest, _ := strings.Cut(pkg, "/"); first {
	case "runtime", "sync", "syscall":
		return true
	case "internal":
		second, _, _ := strings.Cut(rest, "/")
		switch second {
		case "abi", "asan", "bytealg", "byteorder", "chacha8rand", "coverage", "cpu", "goarch", "godebugs", "goexperiment", "goos",
			"msan", "profilerecord", "race", "runtime", "strconv", "stringslite", "sync", "syscall", "trace":
			return true
		}
	case "crypto": // it checks its own code
		return strings.HasPrefix(rest, "internal/fips140")
	case "math":
		return rest == "bits"
	}
	return false
}

// packageOf returns the import path in the name of a function.
func packageOf(function string) string {
	if bracket := strings.IndexByte(function, '['); bracket >= 0 { // type arguments have paths, too
		function = function[:bracket]
	}
	dir, base := path.Split(function)
	base, _, _ = strings.Cut(base, ".")
	return dir + base
}

// isLeftOut reports whether the code of a file is not sampled, in whatever function it was expanded. What the compiler
// makes up is not, nor files that cgo writes, which have the same name in all packages.
func isLeftOut(file string) bool {
	return neverSampled(path.Dir(file)) || strings.HasPrefix(path.Base(file), "_cgo_") || !strings.HasSuffix(file, ".go")
}
