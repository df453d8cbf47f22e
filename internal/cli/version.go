package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/heisen-go/heisen/internal/build"
)

var versionCommand = command{
	name:  "version",
	short: "print the version of $heisen and what it supports",
	run:   (*invocation).version,
}

// version is heisen version.
func (inv *invocation) version() (int, error) {
	if err := inv.parse(); err != nil {
		return Misused, err
	}
	if len(inv.args)+len(inv.rest) > 0 {
		return Misused, misuse("it takes no arguments")
	}
	fmt.Fprintf(inv.Out, "%s %s, built with %s\n", inv.tool.Name, toolVersion(), runtime.Version())
	fmt.Fprintf(inv.Out, "instruments programs with Go %s for %s, and tries later releases; not tested for %s\n",
		strings.Join(build.Releases, " and "), strings.Join(build.PortNames(build.Emulated), ", "),
		strings.Join(build.PortNames(build.Linked)[len(build.PortNames(build.Emulated)):], ", "))
	return Clean, nil
}

// toolVersion returns the version of the module that the command was built from.
func toolVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}
