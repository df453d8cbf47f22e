package cli

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
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
	c, name := &f.config, f.corpusName()
	if name == noCorpus {
		if f.known.newOnly {
			return misuse("-new-only needs a corpus")
		}
		return nil
	}
	if why := f.forgets(name); why != "" {
		if f.known.newOnly {
			return misuse("-new-only cannot be combined with %s: nothing is remembered then", why)
		}
		if f.isSet("corpus") {
			return misuse("-corpus cannot be combined with %s: nothing is remembered then", why)
		}
		return nil
	}
	folder, err := folderOf(name)
	switch {
	case err != nil && (name != "" || f.known.newOnly):
		return fmt.Errorf("-corpus: %w", err)
	case err != nil:
		f.Say("nothing is remembered: " + err.Error())
		return nil
	}
	var flags []string
	f.flags.Visit(func(one *flag.Flag) {
		if slices.Contains(decideTrials, one.Name) {
			flags = append(flags, one.Name+"="+one.Value.String())
		}
	})
	c.Memory = &confirm.Memory{
		Folder: folder, Flags: strings.Join(flags, "\n") + fmt.Sprintf("\n%v", f.overlaps.read), Chosen: f.isSet("seeds"), ReadOnly: f.known.newOnly,
	}
	if c.Parts > 1 && !c.Memory.ReadOnly {
		c.Quiet = true // those who merge the parts want to know of all suspects
		if c.Memory.To, err = corpus.Open(filepath.Join(folder.Path(), fmt.Sprintf("%d-of-%d", c.Part, c.Parts))); err != nil {
			return fmt.Errorf("-corpus: %w", err)
		}
	}
	return nil
}

// corpusName returns the name of the corpus as the user has given it. It is empty for the one in the cache.
func (f *fuzzRun) corpusName() string {
	if f.isSet("corpus") {
		return f.corpus
	}
	return os.Getenv(corpusVariable)
}

// forgets returns why nothing is remembered in a corpus with a name, or nothing. Shards on one machine that share the cache would begin where
// others have ended.
func (f *fuzzRun) forgets(name string) string {
	c := &f.config
	switch {
	case c.Parts > 1 && name == "":
		return "-shard without -corpus"
	case c.Any:
		return "-strategy"
	case f.given != "":
		return "-findings"
	case c.Time == 0:
		return "-time 0"
	}
	return ""
}

// folderOf returns the corpus with a name, or the one in the cache.
func folderOf(name string) (*corpus.Folder, error) {
	if name != "" {
		return corpus.Open(name)
	}
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	return corpus.Default(here)
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
