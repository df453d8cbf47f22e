package rt

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"
)

//go:embed inject/*.go
var inject embed.FS

// buildTag keeps the injected files out of this module's own builds; it stands
// on their first line.
const buildTag = "//go:build heisen_inject\n"

// Sources returns the recorder's files, by name, as they go into package
// runtime. syscallPackage is the import path of the runtime's system call
// package, which depends on the release.
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

// Annotations are the functions of package internal/race that the recorder
// implements for the standard library's own annotations.
var Annotations = []string{
	"Acquire", "Release", "ReleaseMerge", "Disable", "Enable", "Errors",
	"Read", "Write", "ReadRange", "WriteRange",
	"ReadPC", "WritePC", "ReadObjectPC", "WriteObjectPC",
}

// AddedAnnotations are the signatures of those that it adds there for the patched
// locks of package sync and the patched package testing.
var AddedAnnotations = []string{
	"Task(name string)",
	"Locked(lock unsafe.Pointer)",
	"TryLocked(lock unsafe.Pointer)",
	"Unlocking(lock unsafe.Pointer)",
	"RLocked(lock unsafe.Pointer)",
	"TryRLocked(lock unsafe.Pointer)",
	"RUnlocking(lock unsafe.Pointer)",
	"AcquireByChance(addr unsafe.Pointer)",
	"CompareAndSwapInt32(addr *int32, old, new int32) bool",
	"AddInt32(addr *int32, delta int32) int32",
}
