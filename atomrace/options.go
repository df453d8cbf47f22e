package atomrace

import (
	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/option"
	"github.com/heisen-go/heisen/section"
)

// DetectorOption is an option of NewDetector.
type DetectorOption func(*config) error

type config struct {
	sink       heisen.Sink
	noise      Noise
	sections   []section.Section
	locator    *section.Locator // nil without sections
	singleSlot bool
	dedup      int
}

// defaultDedup is the default of WithDedup.
const defaultDedup = 4096

// WithSink sets the function that receives the findings, one at a time. If the detector is driven by
// the threads of a program, the sink is called on the thread whose call found something. It must not
// call the detector, except for Missed. The default, and a nil sink, discard all findings.
func WithSink(sink heisen.Sink) DetectorOption {
	return func(c *config) error {
		c.sink = sink
		return nil
	}
}

// WithSections makes the detector look for violations of the given sections, which it copies. The
// locator translates sites into the places that sections name; section.LocateIn returns one for
// sites with symbols. The detector calls the locator when it meets a site for the first time, perhaps
// more than once, from any of the goroutines that drive it, one call at a time.
//
// The error wraps section.ErrInvalid if section.NewIndex refuses the arguments, or if there are more
// sections than the detector has room for: 4096 sections, 4096 places, 8192 ends. Giving the option
// twice is an error.
func WithSections(sections []section.Section, locator section.Locator) DetectorOption {
	return func(c *config) error {
		if c.locator != nil {
			return option.Errorf("WithSections: sections are given twice")
		}
		if locator.Site == nil {
			return option.Errorf("WithSections: %w: the locator has no function Site", section.ErrInvalid)
		}
		c.sections, c.locator = sections, &locator
		return nil
	}
}

// WithNoise makes BeforeAccess wait as noise decides, while the access is pending. Streams are not
// disturbed, because their events are over when the detector sees them. A nil noise is an error:
// leave the option out instead.
func WithNoise(noise Noise) DetectorOption {
	return func(c *config) error {
		if noise == nil {
			return option.Errorf("WithNoise: noise is nil")
		}
		c.noise = noise
		return nil
	}
}

// WithSingleSlot makes the detector follow figures 2 and 3 of the paper to the letter: of all threads
// that have an access to a variable pending, or are in a section on it, only the first is followed.
// That costs less memory traffic where many threads read the same variable. The price is that races
// with any but the first thread are not found.
func WithSingleSlot() DetectorOption {
	return func(c *config) error {
		c.singleSlot = true
		return nil
	}
}

// WithDedup bounds the number of findings that the detector remembers in order to report each once.
// Findings are the same if their kind, sites and ops are. A remembered finding takes about 60 bytes.
// At the bound the detector forgets all of them, and may report them again. The default is 4096. 0
// reports every overlap and every violation.
func WithDedup(findings int) DetectorOption {
	return func(c *config) error {
		if findings < 0 {
			return option.Errorf("WithDedup: %d findings, want at least 0", findings)
		}
		c.dedup = findings
		return nil
	}
}
