package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heisen-go/heisen/internal/confirm"
	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/confirm/parts"
	"github.com/heisen-go/heisen/internal/corpus"
	"github.com/heisen-go/heisen/internal/findingsfile"
	"github.com/heisen-go/heisen/internal/kept"
	"github.com/heisen-go/heisen/internal/onepage"
	"github.com/heisen-go/heisen/internal/plural"
	"github.com/heisen-go/heisen/internal/printable"
	"github.com/heisen-go/heisen/internal/private"
	"github.com/heisen-go/heisen/report"
)

// What the parts of a campaign (-shard) write beside their memories, and how -merge puts it together.

// maxTaken bounds the schedules that a part takes along.
const maxTaken = 1 << 20

// writePart writes what a part of a campaign has found to the folder of its memories, if it has one.
func (f *fuzzRun) writePart(all []report.Finding, n *confirm.Statistics) error {
	c := &f.config
	if c.Memory == nil || c.Memory.To == nil || n.Work == "" {
		return nil
	}
	p := &parts.Part{Work: n.Work, Run: n.Run, I: c.Part, Of: c.Parts, Findings: all, Schedules: map[string]string{}}
	module := kept.Module(c.Origin.Folder)
	for _, point := range n.Coverage.Points {
		if rel, err := filepath.Rel(module, point.File); err == nil && filepath.IsLocal(rel) {
			point.File = filepath.ToSlash(rel)
		}
		p.Points = append(p.Points, point)
	}
	for i := range all {
		if all[i].Replay == "" {
			continue
		}
		text, err := private.Read(f.scheduleOf(&all[i]), maxTaken)
		if err != nil {
			f.Say(fmt.Sprintf("the schedule of %s is not among those of the part: %v", all[i].Fingerprint, err))
			continue
		}
		p.Schedules[all[i].Fingerprint] = string(text)
	}
	if err := p.Write(c.Memory.To.Path()); err != nil {
		return fmt.Errorf("-corpus: %w", err)
	}
	return nil
}

// scheduleOf returns the name of the schedule of a finding.
func (f *fuzzRun) scheduleOf(finding *report.Finding) string {
	return filepath.Join(f.config.Folder, finding.Fingerprint+".schedule")
}

// toMerge is what -merge was given.
type toMerge struct {
	findings []report.Finding
	parts    []*parts.Part // the last campaign's, each once
	folders  []*corpus.Folder
	damage   error // what cannot be read; the rest counts
}

// addFile adds the findings in a file. There are none if a part of the suspects has shown nothing.
func (m *toMerge) addFile(name string) error {
	found, err := findingsfile.ReadOwn(name)
	m.findings = append(m.findings, found...)
	return err
}

// gather reads what -merge was given: files with findings, folders, and the folders in them.
func (f *fuzzRun) gather(names []string) (*toMerge, error) {
	m := &toMerge{}
	var read []*parts.Part
	for _, name := range names {
		if info, err := os.Stat(name); err != nil || !info.IsDir() {
			if err := m.addFile(name); err != nil {
				return nil, err
			}
			continue
		}
		for _, folder := range foldersIn(name) {
			p, err := m.addFolder(folder)
			if err != nil {
				m.damage = errors.Join(m.damage, err)
			} else if p != nil {
				read = append(read, p)
			}
		}
	}
	m.parts = parts.Union(read...)
	for _, p := range m.parts {
		m.findings = append(m.findings, p.Findings...)
	}
	return m, nil
}

// maxDepth is how far below a folder those of parts are looked for.
const maxDepth = 3

// foldersIn returns a folder and those in it. Links are not followed, and what cannot be listed is left out.
func foldersIn(root string) (all []string) {
	filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil
		}
		all = append(all, path)
		if rel, err := filepath.Rel(root, path); err != nil || strings.Count(filepath.ToSlash(rel), "/")+1 >= maxDepth {
			return fs.SkipDir
		}
		return nil
	})
	return all
}

// addFolder adds the memories of a folder, if there are any, and returns the part in it, if there is one.
func (m *toMerge) addFolder(path string) (*parts.Part, error) {
	from, err := corpus.Existing(path)
	if err != nil {
		return nil, err
	}
	m.folders = append(m.folders, from)
	p, err := parts.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return p, err
}

// mergeCorpora merges the memories of folders into the corpus, if there is one.
func (f *fuzzRun) mergeCorpora(m *toMerge) (*corpus.Merged, error) {
	name := f.corpusName()
	if len(m.folders) == 0 || name == noCorpus {
		return &corpus.Merged{}, nil
	}
	to, err := folderOf(name)
	if err != nil {
		return nil, fmt.Errorf("-corpus: %w", err)
	}
	merged, err := to.Merge(m.folders...)
	m.damage = errors.Join(m.damage, errors.Join(merged.Unread...))
	to.Trim()
	return merged, err
}

// keepSchedules writes the schedules of findings that parts have brought along, and makes the findings name them. The one of an execution with harm
// comes before others.
func (f *fuzzRun) keepSchedules(m *toMerge, found []report.Finding) error {
	for i := range found {
		one := &found[i]
		text := ""
		for _, p := range m.parts {
			harms := slices.ContainsFunc(p.Findings, func(k report.Finding) bool {
				return k.Fingerprint == one.Fingerprint && k.Trials != nil && k.Trials.Harmful
			})
			if s := p.Schedules[one.Fingerprint]; s != "" && (text == "" || harms) {
				if text = s; harms {
					break
				}
			}
		}
		if text == "" {
			continue
		}
		if err := confirm.OpenFolder(f.config.Folder, f.config.Unversioned); err != nil {
			return err
		}
		name := f.scheduleOf(one)
		if err := private.Replace(name, func(w io.Writer) error { _, err := io.WriteString(w, text); return err }); err != nil {
			return err
		}
		one.Replay = f.config.Replay + filepath.ToSlash(name)
	}
	return nil
}

// mergedSummary says what parts have done together.
func (f *fuzzRun) mergedSummary(m *toMerge, merged *corpus.Merged) {
	if len(m.parts) > 0 {
		for _, missing := range parts.Missing(m.parts) {
			f.Say("part " + missing + " is missing")
		}
		f.workSummary(len(m.parts), merged.Memories)
		f.coverageSummary(&confirm.Statistics{Coverage: f.coverageOf(m)})
		f.goneSummary(merged.Gone)
	}
	if n := merged.Others; n > 0 {
		f.Say(fmt.Sprintf("%s %s about another executable than the rest: only %s findings count", plural.Of(n, "memory"), plural.Form(n, "is", "are"), plural.Form(n, "its", "their")))
	}
}

// workSummary says what the parts of the last campaign have searched, as far as memories have it.
func (f *fuzzRun) workSummary(n int, memories []*corpus.Memory) {
	tests, executions, seconds := 0, uint64(0), 0.0
	for _, one := range memories {
		for _, t := range one.Tests {
			if t.Run != one.Runs || len(t.Work) == 0 {
				continue
			}
			tests++
			for _, w := range t.Work {
				executions, seconds = executions+w.Executions, seconds+w.Took.Seconds()
			}
		}
	}
	text := plural.Of(n, "part") + " searched " + plural.Of(tests, "test") + " in " + plural.Of(int(executions), "execution")
	if seconds > 0 {
		text += fmt.Sprintf(", %.0f for each second of their time", float64(executions)/seconds)
	}
	f.Say(text)
}

// coverageOf returns what the parts have covered.
func (f *fuzzRun) coverageOf(m *toMerge) controlled.Coverage {
	var sets [][]controlled.Point
	for _, p := range m.parts {
		sets = append(sets, p.Points)
	}
	return controlled.JoinCoverage(sets...)
}

// goneSummary says which of the known findings no part has found any more.
func (f *fuzzRun) goneSummary(gone []corpus.Gone) {
	for _, one := range gone {
		state := "not seen"
		if one.Fixed {
			state = "fixed"
		}
		f.Say(printable.Text(fmt.Sprintf("%s: %s: %s (%s, last seen on %s)", state, one.Package, one.Subject, one.Fingerprint, one.Last)))
	}
}

// flakyRows returns the rows of a table of flaky tests that findings decide.
func flakyRows(found []report.Finding) (rows []onepage.Flaky) {
	for i := range found {
		for _, t := range found[i].Flaky {
			rows = append(rows, onepage.Flaky{FlakyTest: t, Finding: &found[i]})
		}
	}
	return rows
}
