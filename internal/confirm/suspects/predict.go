package suspects

import (
	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/build"
	"github.com/heisen-go/heisen/internal/contain"
	"github.com/heisen-go/heisen/mcm"
	"github.com/heisen-go/heisen/section"
)

// predictor is the detector whose findings have witnesses.
const predictor = "mcm"

// maxPredicted bounds the events of an execution from which witnesses of suspects are predicted.
const maxPredicted = 20_000

// newPredictor returns the detector mcm with s.Sections. order sees each event before it.
func (s *Survey) newPredictor(order *orderRecorder, symbols *heisen.Symbols, sink heisen.Sink) (heisen.Detector, error) {
	d, err := mcm.NewDetector(mcm.WithSymbols(symbols), mcm.WithSections(s.Sections, section.LocateIn(symbols, "/")),
		mcm.WithSink(func(f heisen.Finding) {
			f.Detector = predictor
			sink(f)
		}))
	return heisen.Tee(order, contain.New(predictor, d)), err
}

// ownEvents passes on the first maxPredicted events to a detector, without the plain accesses that libraries
// make. These hardly ever decide which order is possible, and a witness counts only if the program follows it.
// The detector takes what it gets for the whole stream: it learns nothing of the rest.
type ownEvents struct {
	detector  heisen.Detector
	symbols   *heisen.Symbols
	with      *build.Toolchain
	inLibrary []int8 // by site: 0 if it is not known, 1 if it is, -1 if not
	passed    int
}

// Handle implements heisen.Detector.
func (o *ownEvents) Handle(e heisen.Event) {
	if op := e.Op(); o.passed == maxPredicted || op.IsAccess() && !op.IsAtomic() && o.libraryAt(e.Site()) {
		return
	}
	o.passed++
	o.detector.Handle(e)
}

// Flush implements heisen.Detector.
func (o *ownEvents) Flush() error { return o.detector.Flush() }

func (o *ownEvents) libraryAt(site heisen.Site) bool {
	if int(site) >= len(o.inLibrary) {
		o.inLibrary = append(o.inLibrary, make([]int8, int(site)+1-len(o.inLibrary))...)
	}
	if o.inLibrary[site] == 0 {
		o.inLibrary[site] = -1
		if frames := o.symbols.Site(site).Frames; len(frames) > 0 && o.with.InLibrary(frames[0].File) {
			o.inLibrary[site] = 1
		}
	}
	return o.inLibrary[site] > 0
}
