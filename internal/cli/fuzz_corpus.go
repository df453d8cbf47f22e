package cli

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/heisen-go/heisen/internal/confirm"
	"github.com/heisen-go/heisen/internal/corpus"
	"github.com/heisen-go/heisen/internal/onepage"
	"github.com/heisen-go/heisen/internal/plural"
	"github.com/heisen-go/heisen/internal/printable"
)

// What heisen fuzz remembers of earlier runs (-corpus).

const (
	// corpusVariable is the environment variable with the default value of -corpus.
	corpusVariable = "HEISEN_CORPUS"
	// noCorpus is the value of -corpus with which nothing is remembered.
	noCorpus = "none"
)

// decideTrials are the flags that decide what the execution of a given seed tries.
var decideTrials = []string{"walks", "depth", "procs", "virtual", "patience", "wait", "predict", "causality", "limit"}

// openCorpus opens the corpus, unless nothing is remembered. It returns an error if the user has named one that cannot be used.
func (f *fuzzRun) openCorpus() error {
	c, set := &f.config, map[string]bool{}
	var flags []string
	f.flags.Visit(func(one *flag.Flag) {
		set[one.Name] = true
		if slices.Contains(decideTrials, one.Name) {
			flags = append(flags, one.Name+"="+one.Value.String())
		}
	})
	name := f.corpus
	if !set["corpus"] {
		name = os.Getenv(corpusVariable)
	}
	why := ""
	switch {
	case name == noCorpus && f.known.newOnly:
		return misuse("-new-only needs a corpus")
	case name == noCorpus:
		return nil
	case c.Parts > 1:
		why = "-shard"
	case c.Any:
		why = "-strategy"
	case f.given != "":
		why = "-findings"
	case c.Time == 0:
		why = "-time 0"
	}
	if why != "" {
		if f.known.newOnly {
			return misuse("-new-only cannot be combined with %s: nothing is remembered then", why)
		}
		if set["corpus"] {
			return misuse("-corpus cannot be combined with %s: nothing is remembered then", why)
		}
		return nil
	}
	var folder *corpus.Folder
	var err error
	if name != "" {
		folder, err = corpus.Open(name)
	} else {
		var here string
		if here, err = os.Getwd(); err == nil {
			folder, err = corpus.Default(here)
		}
	}
	switch {
	case err != nil && (name != "" || f.known.newOnly):
		return fmt.Errorf("-corpus: %w", err)
	case err != nil:
		f.Say("nothing is remembered: " + err.Error())
		return nil
	}
	c.Memory = &confirm.Memory{Folder: folder, Flags: strings.Join(flags, "\n") + fmt.Sprintf("\n%v", f.overlaps.read), Chosen: set["seeds"], ReadOnly: f.known.newOnly}
	return nil
}

// corpusSummary says what was remembered of earlier runs.
func (f *fuzzRun) corpusSummary(n *confirm.Statistics) {
	f.passingSummary(n)
	if n.Gone > 0 {
		fmt.Fprintf(f.Err, "%s: %s of earlier runs %s not seen\n", f.tool.Name, plural.Of(n.Gone, "finding"), plural.Form(n.Gone, "was", "were"))
	}
	if f.line.isTrue("v") && n.Corpus != "" {
		fmt.Fprintf(f.Err, "%s: corpus %s (%s): the same flags try the same with a copy of %s as it was before\n",
			f.tool.Name, n.Corpus, plural.Of(n.Remembered, "finding"), f.config.Memory.Folder.Path())
	}
}

// passingSummary mentions the findings that do not count because they are known (-new-only).
func (f *fuzzRun) passingSummary(n *confirm.Statistics) {
	if f.known.newOnly && n.Remembered == 0 {
		f.Say("no finding of an earlier run is known: each one is new (-new-only)")
	}
	all, _ := f.found.all()
	for i := range all {
		one := &all[i]
		if !f.known.passes(one) {
			continue
		}
		text := fmt.Sprintf("known since %s, and so not counted: %s [%s]", one.History.First, onepage.Subject(one), one.Fingerprint)
		if one.Replay != "" {
			text += ": " + one.Replay
		}
		f.Say(printable.Text(text))
	}
}
