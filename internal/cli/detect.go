package cli

import (
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/vclock"
)

// detectors are those that -detect can name.
var detectors = []struct {
	name    string
	promise string
	make    func(heisen.Sink) heisen.Detector
}{
	{"fasttrack", "at least the first race of every variable that races in the observed order; no false alarm",
		func(sink heisen.Sink) heisen.Detector { return vclock.NewFastTrack(sink) }},
	{"hb", "all racy pairs of the observed order; slow",
		func(sink heisen.Sink) heisen.Detector { return vclock.NewReference(sink) }},
}

// detection is the value of a -detect flag: names of detectors.
type detection []string

func (d *detection) String() string { return strings.Join(*d, ",") }

func (d *detection) Set(list string) error {
	*d = nil
	for _, name := range strings.Split(list, ",") {
		if !slices.Contains(detectorNames(), name) {
			return misuse("unknown detector %q; there are %s", name, strings.Join(detectorNames(), ", "))
		}
		if !slices.Contains(*d, name) {
			*d = append(*d, name)
		}
	}
	return nil
}

func detectorNames() (names []string) {
	for _, d := range detectors {
		names = append(names, d.name)
	}
	return names
}

// build returns new detectors that report to sink.
func (d detection) build(sink heisen.Sink) (built []heisen.Detector) {
	for _, known := range detectors {
		if slices.Contains(d, known.name) {
			built = append(built, known.make(sink))
		}
	}
	return built
}

// NewDetectors returns new detectors that report to sink, by a list as -detect
// takes it; "all" stands for every detector but the slow reference, and "" for
// none.
func NewDetectors(list string, sink heisen.Sink) ([]heisen.Detector, error) {
	var d detection
	switch list {
	case "":
		return nil, nil
	case "all":
		d = slices.DeleteFunc(detectorNames(), func(name string) bool { return name == "hb" })
	default:
		if err := d.Set(list); err != nil {
			return nil, err
		}
	}
	return d.build(sink), nil
}

// detectFlag defines -detect.
func (inv *invocation) detectFlag() *detection {
	d := &detection{"fasttrack"}
	inv.flags.Var(d, "detect", "comma-separated `list` of detectors")
	return d
}
