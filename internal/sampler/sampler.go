// Package sampler has what goes into package runtime of programs that heisen build -field makes: plain programs that stop
// a goroutine now and then before it accesses a variable. Whoever accesses the variable meanwhile, one of the two
// writing, is in a data race with it: neither has accessed it yet, and nothing orders the two. This is AtomRace's
// way to find races (section 3 of the paper), with breakpoints in place of instrumentation.
//
// The files of inject belong together; start.go says what each is for. They are injected by package build.
package sampler

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"
)

//go:embed inject/*.go
var inject embed.FS

// buildTag is the first line of the injected files. It keeps them out of this module's builds.
const buildTag = "//go:build heisen_inject\n"

// Sources returns the injected files, by name, as they go into package runtime. syscallPackage is the import path of the
// runtime's system call package, which depends on the Go release.
func Sources(syscallPackage string) (map[string][]byte, error) {
	entries, err := fs.ReadDir(inject, "inject")
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, e := range entries {
		text, err := fs.ReadFile(inject, "inject/"+e.Name())
		if err != nil {
			return nil, err
		}
		body, ok := strings.CutPrefix(string(text), buildTag)
		if !ok {
			return nil, fmt.Errorf("%s does not start with %q", e.Name(), buildTag)
		}
		files[e.Name()] = []byte(strings.ReplaceAll(body, `"internal/runtime/syscall/linux"`, `"`+syscallPackage+`"`))
	}
	return files, nil
}
