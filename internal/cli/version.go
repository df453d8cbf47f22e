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
	info, _ := debug.ReadBuildInfo()
	fmt.Fprintf(inv.Out, "%s %s, built with %s\n", inv.tool.Name, versionOf(info), runtime.Version())
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

// versionOf returns the version of the module that a command was built from: that of go install
// with a version, or for a build in a clone also the commit, its day, and whether files were changed.
func versionOf(info *debug.BuildInfo) string {
	if info == nil || info.Main.Version == "" {
		return "of an unknown version"
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	version := info.Main.Version
	if commit := settings["vcs.revision"]; commit != "" {
		version += ", commit " + commit
		if day, _, ok := strings.Cut(settings["vcs.time"], "T"); ok {
			version += " of " + day
		}
		if settings["vcs.modified"] == "true" {
			version += " with changes"
		}
	}
	return version
}
