package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/plural"
	"github.com/heisen-go/heisen/internal/printable"
)

// A race is about a variable. The statements that access it in pairs belong to one finding. A leak is about what is waited for: the
// places where goroutines wait for ever to do the same with a variable belong to one finding, each as a pair of one access. A failure may be a
// race that the program has noticed.

// Identify makes a race, a leak with an access, or a failure that is a race, that of a variable with an identity, if there is one. pair is the
// fingerprint of the places of its accesses.
func (f *Finding) Identify(identity, pair string) {
	f.Identity, f.Pair, f.Fingerprint = "", "", pair
	kind, what := f.Kind, ""
	switch f.Kind {
	case heisen.Race, heisen.PotentialRace:
	case heisen.Failure:
		kind = heisen.Race
	case heisen.Leak:
		if len(f.Accesses) == 0 {
			identity = ""
		} else {
			what = waitsTo(f.Accesses[0].Op) + "\n"
		}
	default:
		identity = ""
	}
	if identity == "" {
		return
	}
	sum := sha256.Sum256([]byte(string(kind) + " of\n" + what + identity))
	f.Identity, f.Pair, f.Fingerprint = identity, pair, hex.EncodeToString(sum[:8])
}

// waitsTo returns what a goroutine waits to do, so that those that wait because of the same mistake wait to do the same: who holds a lock keeps
// readers and writers out.
func waitsTo(op string) string {
	if op == heisen.AcquireShared.String() {
		return heisen.Acquire.String()
	}
	return op
}

// PairFingerprint returns the fingerprint of the places of the Accesses, which two findings about one variable differ in. It is that of the
// heisen.Finding. Of all but races and leaks, it is the Fingerprint.
func (f *Finding) PairFingerprint() string { return cmp.Or(f.Pair, f.Fingerprint) }

// HasPair reports whether a pair of accesses with a fingerprint is among those of the finding.
func (f *Finding) HasPair(fingerprint string) bool {
	return f.PairFingerprint() == fingerprint || slices.ContainsFunc(f.Pairs, func(p Pair) bool { return p.Fingerprint == fingerprint })
}

// AddPairs adds the pairs of accesses of another finding with the same Fingerprint to the Pairs, its Count to that of f, and its detectors to
// the Detectors.
func (f *Finding) AddPairs(other *Finding) {
	f.Count += other.Count
	for _, name := range append([]string{other.Detector}, other.Detectors...) {
		if name != "" && name != f.Detector && !slices.Contains(f.Detectors, name) {
			f.Detectors = append(slices.Clip(f.Detectors), name)
		}
	}
	first := other.Count
	for i := range other.Pairs {
		first -= min(first, other.Pairs[i].Count)
	}
	f.addPair(Pair{
		Fingerprint: other.PairFingerprint(), Count: first, Message: other.Message, Variable: other.Variable,
		Accesses: other.Accesses, Goroutines: other.Goroutines, Allocations: other.Allocations, Trials: other.Trials, Replay: other.Replay,
	})
	for _, p := range other.Pairs {
		f.addPair(p)
	}
}

// addPair adds a pair, or its count to the pair with its fingerprint.
func (f *Finding) addPair(p Pair) {
	if p.Fingerprint == f.PairFingerprint() {
		return
	}
	at := slices.IndexFunc(f.Pairs, func(known Pair) bool { return known.Fingerprint == p.Fingerprint })
	if at < 0 {
		f.Pairs = append(slices.Clip(f.Pairs), p)
		return
	}
	f.Pairs = slices.Clone(f.Pairs)
	f.Pairs[at].Count += p.Count
}

// EachPair returns a finding for each pair of accesses, the first one with all that is known of f. They have its Fingerprint.
func (f *Finding) EachPair() []Finding {
	first := *f
	first.Pairs = nil
	all := []Finding{first}
	for _, p := range f.Pairs {
		all = append(all, Finding{
			Detector: f.Detector, Kind: f.Kind, Fingerprint: f.Fingerprint, Count: max(p.Count, 1), Message: p.Message,
			Package: f.Package, Variable: p.Variable, Accesses: p.Accesses, Identity: f.Identity, Pair: p.Fingerprint,
			Goroutines: p.Goroutines, Allocations: p.Allocations, Unseen: f.Unseen, Trials: p.Trials, Replay: p.Replay,
		})
	}
	return all
}

// morePairs says how many further pairs there are.
func (f *Finding) morePairs(n int) string {
	if len(f.Pairs[0].Accesses) == 1 {
		return plural.Of(n, "more place")
	}
	return plural.Of(n, "more pair") + " of accesses"
}

// maxPairs bounds the pairs that are printed.
const maxPairs = 8

// writePairs prints the further pairs, each on a line.
func writePairs(b *strings.Builder, f *Finding) {
	if len(f.Pairs) == 0 {
		return
	}
	switch {
	case len(f.Pairs[0].Accesses) == 1:
		b.WriteString("\nOther places where goroutines wait for it:\n")
	case f.Kind == heisen.Failure && f.Identity == "":
		b.WriteString("\nOther goroutines come between accesses:\n")
	default:
		b.WriteString("\nOther pairs of accesses that race:\n")
	}
	for i := range f.Pairs {
		if i == maxPairs {
			fmt.Fprintf(b, "  and %d more\n", len(f.Pairs)-i)
			break
		}
		fmt.Fprintf(b, "  %s\n", &f.Pairs[i])
	}
}

// String returns the pair on one line: what the accesses do, and where.
func (p *Pair) String() string {
	if p == nil {
		return ""
	}
	var parts []string
	for i := range p.Accesses {
		parts = append(parts, step(&p.Accesses[i]))
	}
	text := strings.Join(parts, ", ")
	if p.Count > 1 {
		text += fmt.Sprintf(" (%d times)", p.Count)
	}
	return printable.Text(text)
}
