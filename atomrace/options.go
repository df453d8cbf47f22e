package atomrace

import (
	"errors"
	"fmt"

	"github.com/heisen-go/heisen/section"
)

// Option sets something about a Detector.
type Option func(*Detector) error

// SingleSlot makes the detector keep to the letter of figures 2 and 3: of a variable
// that is being accessed, or that a thread is in a section on, only that one thread is
// followed. It costs less memory traffic where many threads read the same, and loses
// races with any but the first of them.
func SingleSlot() Option {
	return func(d *Detector) error {
		d.table.Single = true
		return nil
	}
}

// WithSections makes the detector look for violations of the given sections, which it copies. The
// locator says which sites they mean. The error wraps section.ErrInvalid if section.NewIndex refuses
// the sections, or if there are more than the detector has room for: 4096 sections, 4096 places, 8192
// ends.
func WithSections(sections []section.Section, locator section.Locator) Option {
	return func(d *Detector) error {
		if d.sections != nil {
			return errors.New("sections are given twice")
		}
		var err error
		d.sections, err = newSectionTable(d.table, sections, locator)
		return err
	}
}

// WithNoise makes BeforeAccess wait as noise says, while the access is pending. The
// events of a stream are over when the detector sees them, and are not disturbed.
func WithNoise(noise Noise) Option {
	return func(d *Detector) error {
		if noise == nil {
			return errors.New("noise is nil")
		}
		d.noise = noise
		return nil
	}
}

// Remember bounds how many findings are remembered in order not to report them again,
// about 60 bytes each: those of the same kind between the same sites with the same ops.
// When that many are remembered all are forgotten, and may be reported again. 0 reports
// every overlap and every violation. The bound is 4096 if nothing is said.
func Remember(findings int) Option {
	return func(d *Detector) error {
		if findings < 0 {
			return fmt.Errorf("%d findings to remember: not less than 0", findings)
		}
		d.remember = findings
		return nil
	}
}
