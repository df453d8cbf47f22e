package build

import (
	"debug/buildinfo"
	"fmt"
	"slices"
	"strings"

	"github.com/heisen-go/heisen/internal/recorder"
)

// A Trial is how far programs built by heisen were tried on a port of Go.
type Trial int

// The trials, each of which contains the next one.
const (
	Tested   Trial = iota // the tests of heisen pass there
	Emulated              // programs run under an emulator, or another implementation of the system, and report what they should
	Linked                // programs are compiled and linked, and were never started
)

// String returns the name of a trial, as the documents have it.
func (t Trial) String() string { return [...]string{"tested", "emulated", "linked"}[t] }

// Port is a port of Go, which has a name such as "linux/amd64".
type Port struct {
	Name  string
	Trial Trial
}

// Ports are the ports for which heisen instruments programs. All of them have Go's race detector, because the
// compiler instruments for no others.
var Ports = []Port{
	{"linux/amd64", Tested},
	{"linux/arm64", Emulated},
	{"linux/riscv64", Emulated},
	{"windows/amd64", Emulated},
	{"darwin/amd64", Linked},
	{"darwin/arm64", Linked},
	{"freebsd/amd64", Linked},
}

// PortNames returns the names of the ports with a trial of at most most.
func PortNames(most Trial) (names []string) {
	for _, p := range Ports {
		if p.Trial <= most {
			names = append(names, p.Name)
		}
	}
	return names
}

// port returns the port for which the toolchain builds.
func (t *Toolchain) port() (Port, error) {
	name := t.GOOS + "/" + t.GOARCH
	i := slices.IndexFunc(Ports, func(p Port) bool { return p.Name == name })
	if i < 0 {
		return Port{}, fmt.Errorf("%w platform %s: heisen instruments programs for %s",
			ErrUnsupported, name, strings.Join(PortNames(Linked), ", "))
	}
	return Ports[i], nil
}

// Untested returns a line about a port on which no program of heisen's was ever run, the empty string for others.
func (t *Toolchain) Untested() string {
	if p, err := t.port(); err != nil || p.Trial < Linked {
		return ""
	}
	return fmt.Sprintf("not tested on %s/%s: programs for it were only linked", t.GOOS, t.GOARCH)
}

// Executable returns the name of a program for the toolchain's system, which may want an ending.
func (t *Toolchain) Executable(name string) string { return executable(t.GOOS, name) }

// executable returns the name of a program for a system.
func executable(goos, name string) string {
	if goos == "windows" {
		return name + ".exe"
	}
	return name
}

// IsProgram reports whether what go build has written is a program. Of a package that is none, it writes an archive.
func IsProgram(path string) bool {
	_, err := buildinfo.ReadFile(path)
	return err == nil
}

// Connects reports whether programs for a system connect to the heisen command. Others look for races themselves, and print
// them.
func Connects(goos string) bool {
	switch goos {
	case "linux":
		return recorder.Used() != recorder.Apart
	case "darwin", "freebsd", "windows":
		return true
	}
	return false
}

// Connection returns an error that wraps ErrUnsupported if programs that the toolchain builds do not connect to the heisen
// command.
func (t *Toolchain) Connection() error {
	if Connects(t.GOOS) {
		return nil
	}
	return fmt.Errorf("%w: programs for %s/%s do not connect to heisen: there, only run, test and build -detect fasttrack work, "+
		"without a baseline and with reports as text, which the programs print", ErrUnsupported, t.GOOS, t.GOARCH)
}
