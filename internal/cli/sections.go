package cli

import "path/filepath"

var sectionsCommand = command{
	name: "sections", args: "(infer | refine) [flags] [packages]",
	short: "infer atomic sections from source, and refine them by running tests",
	long: `An atomic section is a sequence of accesses to one variable that is meant to be
atomic. $heisen sections infer finds code that follows one of these patterns:

  load-and-store   a variable is written with a value made from its own: x++
  test-and-use     a variable is used in a branch that a test of it decides:
                   if p != nil { p.f() }
  consecutive      a variable is accessed twice, and some accesses in between
                   would be unserializable: candidates, to be refined

It leaves out variables that no other goroutine can reach, as far as one package
shows, and sections during which the same function holds a lock. The names of
source files are relative to the folder of the written file. It runs nothing, but
compiles the imports of the packages if necessary.

$heisen sections refine takes the flags of go test as $heisen test does, apart from
-o. It runs the tests several times with the sections of -sections
watched. It removes the sections that are violated in a run whose tests pass. Runs
with failing tests prove nothing. It stops after -calm passing runs without a new
violation, drops the sections that were never seen, and writes the others. Noise
makes it see more.
`,
	run: (*invocation).sections,
}

// sections is heisen sections, which has subcommands of its own.
func (inv *invocation) sections() (int, error) {
	if len(inv.args) == 0 && inv.help != noHelp {
		return inv.infer()
	}
	if len(inv.args) == 0 {
		return Misused, misuse("want infer or refine")
	}
	verb := inv.args[0]
	switch verb {
	case "infer":
		inv.args = inv.args[1:]
		return inv.infer()
	case "refine":
		inv.args = inv.args[1:]
		return inv.refine()
	case "-h", "-help", "--help":
		return inv.infer()
	}
	return Misused, misuse("%q is neither infer nor refine", verb)
}

// absolute returns the absolute path of a folder without symbolic links, in which form the go
// command names source files.
func absolute(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real, nil
	}
	return dir, nil
}

// relative returns a file's name relative to a folder, with slashes, or the name itself if there is
// none.
func relative(dir, file string) string {
	if rel, err := filepath.Rel(dir, filepath.FromSlash(file)); err == nil {
		return filepath.ToSlash(rel)
	}
	return file
}
