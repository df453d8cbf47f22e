package cli

import (
	"io"
	"os"
	"sync"

	"github.com/heisen-go/heisen/internal/kept"
	"github.com/heisen-go/heisen/report"
)

// keeper keeps what is reported, for heisen show. The zero keeper is ready.
type keeper struct {
	once   sync.Once
	folder *kept.Folder // nil if nothing can be kept
	here   string       // the working folder
}

// open returns the folder of the module that the working folder is in, and the working folder.
func (k *keeper) open() (*kept.Folder, string) {
	k.once.Do(func() {
		here, err := os.Getwd()
		if err != nil {
			return
		}
		k.here = here
		if folder, err := kept.Open(here); err == nil {
			k.folder = folder
		}
	})
	return k.folder, k.here
}

// keep keeps a finding. It reports whether heisen show has it.
func (r *reports) keep(f *report.Finding) bool {
	folder, _ := r.keeper.open()
	return folder != nil && folder.Put(f) == nil
}

// keepAll keeps findings as they are at the end, when they have been found for the last time. Findings for which quiet returns true are
// not kept; it may be nil.
func (r *reports) keepAll(all []report.Finding, quiet func(*report.Finding) bool) {
	for i := range all {
		if quiet == nil || !quiet(&all[i]) {
			r.keep(&all[i])
		}
	}
	if folder, _ := r.keeper.open(); folder != nil && len(all) > 0 {
		folder.Trim()
	}
}

// textTo returns a function that writes findings as text: in full, or else in short with the command that shows the rest. What cannot be
// kept is written in full.
func (r *reports) textTo(w io.Writer, full, color bool) func(*report.Finding) error {
	return func(f *report.Finding) error {
		if full || !r.keep(f) {
			if color {
				return report.WriteColorText(w, f)
			}
			return report.WriteText(w, f)
		}
		_, here := r.keeper.open()
		return (&report.Brief{Folder: here, Full: r.tool + " show", Color: color}).Write(w, f)
	}
}
