package field

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"sync"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/goroutines"
	"github.com/heisen-go/heisen/internal/option"
	"github.com/heisen-go/heisen/report"
)

// ErrNoSampler is wrapped by errors that say that the program was not built with heisen build -field, or that its sampler was
// switched off when it began.
var ErrNoSampler = errors.New("this program has no sampler")

// ErrNoProfile is wrapped by errors that say that leaks cannot be looked for, because this release of Go does
// not have the profile goroutineleak.
var ErrNoProfile = goroutines.ErrNoProfile

// A Watcher looks for goroutines of this process that can never go on. New makes one; methods of the zero value
// return heisen.ErrZero. Several goroutines may use it.
type Watcher struct {
	config config

	mu     sync.Mutex // held while it looks
	known  map[string]*report.Finding
	failed map[string]bool // errors of looks that were logged
	races  int             // so many were taken from the sampler
	next   time.Time       // when the next look is within the share
	looked time.Time       // when it has looked last, zero if never
	took   time.Duration
}

// New returns a Watcher. The error wraps heisen.ErrOption if an option is wrong.
func New(opts ...Option) (*Watcher, error) {
	c := config{interval: defaultInterval, share: defaultShare}
	if err := option.Apply("field.New", &c, opts); err != nil {
		return nil, err
	}
	return &Watcher{config: c, known: map[string]*report.Finding{}, failed: map[string]bool{}}, nil
}

// Run looks after each interval, and at each of the signals, until ctx is done. It returns the cause of that.
// Errors of looks are logged, each once. A look that would go beyond the share is left out; signals make
// it look nevertheless.
func (w *Watcher) Run(ctx context.Context) error {
	if ctx == nil {
		return fmt.Errorf("field.Watcher.Run: %w", option.Errorf("the context is nil"))
	}
	if w.known == nil {
		return heisen.ErrZero
	}
	signals := make(chan os.Signal, 1)
	if len(w.config.signals) > 0 {
		signal.Notify(signals, w.config.signals...)
		defer signal.Stop(signals)
	}
	ticker := time.NewTicker(w.config.interval)
	defer ticker.Stop()
	var races <-chan time.Time
	if _, err := Count(); err == nil {
		t := time.NewTicker(racesInterval)
		defer t.Stop()
		races = t.C
	}
	for {
		var err error
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-signals:
			_, err = w.Look()
		case <-ticker.C:
			_, err = w.lookWithin()
		case <-races:
			err = w.takeRaces()
		}
		w.notify(err)
	}
}

// notify logs an error of a look, each once.
func (w *Watcher) notify(err error) {
	if err == nil || w.config.logger == nil {
		return
	}
	w.mu.Lock()
	again := w.failed[err.Error()]
	w.failed[err.Error()] = true
	w.mu.Unlock()
	if !again {
		w.config.logger.Warn("heisen cannot look for leaks", "error", err)
	}
}

// Look looks now, whatever the share is, and returns all that was found since New, the most frequent first. A
// finding is told once, to the logger, the output and the function. Its Count is how many goroutines waited
// at the last look at which there was one.
//
// The error wraps ErrNoProfile if this release cannot tell leaks. It is another one if the output has failed; what
// was found is returned nevertheless.
func (w *Watcher) Look() ([]report.Finding, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.look()
}

// lookWithin is Look unless it would go beyond the share; then it returns what is known.
func (w *Watcher) lookWithin() ([]report.Finding, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Now().Before(w.next) {
		err := w.addRaces()
		return w.findings(), err
	}
	return w.look()
}

func (w *Watcher) look() ([]report.Finding, error) {
	if w.known == nil {
		return nil, heisen.ErrZero
	}
	failed := w.addRaces()
	start := time.Now()
	found, err := search(func(fingerprint string) bool { return w.known[fingerprint] != nil })
	w.looked, w.took = start, time.Since(start)
	w.next = time.Now().Add(time.Duration(float64(w.took)/w.config.share) - w.took)
	for i := range found {
		f := &found[i]
		if known := w.known[f.Fingerprint]; known != nil {
			known.Count = f.Count
			continue
		}
		w.known[f.Fingerprint] = f
		err = errors.Join(err, w.tell(f))
	}
	return w.findings(), errors.Join(failed, err)
}

// racesInterval is how often Run asks the sampler for races, which costs next to nothing.
const racesInterval = time.Second

// takeRaces is addRaces for Run.
func (w *Watcher) takeRaces() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.addRaces()
}

// addRaces tells of the races that the sampler has caught since the last call.
func (w *Watcher) addRaces() (err error) {
	for c := new(catch); samplerCatch(w.races, c); w.races++ {
		f := c.finding()
		if known := w.known[f.Fingerprint]; known != nil {
			known.Count++
			continue
		}
		w.known[f.Fingerprint] = &f
		err = errors.Join(err, w.tell(&f))
	}
	return err
}

// tell tells of a new finding.
func (w *Watcher) tell(f *report.Finding) error {
	c := &w.config
	if c.logger != nil {
		count := "goroutines"
		if f.Kind == heisen.Race {
			count = "times"
		}
		c.logger.Warn("heisen: "+f.Message, slog.Uint64(count, f.Count), slog.String("fingerprint", f.Fingerprint), slog.String("at", placeOf(f)))
	}
	if c.each != nil {
		c.each(*f)
	}
	if c.output != nil {
		if err := report.WriteJSON(c.output, f); err != nil {
			return fmt.Errorf("output: %w", err)
		}
	}
	return nil
}

// placeOf returns where a goroutine waits.
func placeOf(f *report.Finding) string {
	if len(f.Accesses) == 0 || len(f.Accesses[0].Stack) == 0 {
		return ""
	}
	frame := f.Accesses[0].Stack[0]
	return fmt.Sprintf("%s %s:%d", frame.Func, frame.File, frame.Line)
}

// findings returns copies of what is known, the most frequent first.
func (w *Watcher) findings() (all []report.Finding) {
	for _, f := range w.known {
		all = append(all, *f)
	}
	slices.SortFunc(all, func(a, b report.Finding) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Fingerprint, b.Fingerprint))
	})
	return all
}
