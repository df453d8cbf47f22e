// Package parts keeps what the parts of a campaign have found, and puts them together.
//
// A Part is the result of a unit of work. It names the work by what determines it, so that a result which comes twice counts once, and the union of
// parts depends neither on their order nor on which were united before. What parts remember for later campaigns is in memories beside them, see
// package corpus, which are joined in the same way.
//
// A file may come from anybody. What is in it is bounded by its size, its schedules name programs as those in other files do, and it is only read.
package parts

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heisen-go/heisen/internal/confirm/controlled"
	"github.com/heisen-go/heisen/internal/private"
	"github.com/heisen-go/heisen/racefuzz"
	"github.com/heisen-go/heisen/report"
)

// File is the name of the file of a part in the folder with its memories.
const File = "part.json"

// Part is what one part of a campaign has found.
type Part struct {
	Version int    `json:"part"`
	Work    string `json:"work"` // hexadecimal; equal if the same was tried, or more of it
	Run     uint64 `json:"run"`  // of the campaign, see corpus.Memory
	I       int    `json:"i"`    // which one it is, from 1
	Of      int    `json:"of"`
	// Points are what its executions have covered, with files relative to the module.
	Points []controlled.Point `json:"points"`
	// Schedules are texts, by the fingerprints of the findings that they show.
	Schedules map[string]string `json:"schedules"`
	// Findings are those of a report in JSON, which has all suspects.
	Findings []report.Finding `json:"-"`

	text []byte
}

const (
	version  = 1
	maxBytes = 64 << 20 // of a file
)

// Write writes the part to a folder. A part that is there is replaced.
func (p *Part) Write(folder string) error {
	p.Version = version
	head, err := json.Marshal(p)
	if err != nil {
		return err
	}
	text := bytes.NewBuffer(append(head, '\n'))
	for i := range p.Findings {
		if err := report.WriteJSON(text, &p.Findings[i]); err != nil {
			return err
		}
	}
	if text.Len() > maxBytes {
		return fmt.Errorf("what the part has found has more than %d bytes", maxBytes)
	}
	return private.Put(filepath.Join(folder, File), text.Bytes())
}

// Read reads the part in a folder. The error is one line with the name of the file. It wraps fs.ErrNotExist if there is none.
func Read(folder string) (*Part, error) {
	name := filepath.Join(folder, File)
	text, err := private.Read(name, maxBytes)
	if err != nil {
		return nil, err
	}
	p, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}

func parse(text []byte) (*Part, error) {
	head, rest, ended := bytes.Cut(text, []byte("\n"))
	p := &Part{text: text}
	switch err := json.Unmarshal(head, p); {
	case err != nil || !ended || p.Version == 0:
		return nil, errors.New("it is not a part of a campaign")
	case p.Version != version:
		return nil, errors.New("another version of heisen has written it")
	case !isHex(p.Work) || p.I < 1 || p.I > p.Of:
		return nil, errors.New("its first line is wrong")
	}
	for name, text := range p.Schedules {
		if err := new(racefuzz.Schedule).UnmarshalText([]byte(text)); err != nil || !isHex(name) {
			return nil, fmt.Errorf("a schedule is wrong: %w", cmp.Or(err, errors.New("it has no fingerprint")))
		}
	}
	for i := range p.Points {
		if at := &p.Points[i]; at.Line < 1 || at.File == "" {
			return nil, errors.New("a point is nowhere")
		}
	}
	var err error
	p.Findings, err = report.ReadJSON(bytes.NewReader(rest))
	return p, err
}

// isHex reports whether a word consists of digits of hexadecimal numbers.
func isHex(word string) bool {
	return word != "" && len(word) <= 64 && strings.Trim(word, "0123456789abcdef") == ""
}

// Union returns the parts of the last campaign among some, in order, each once. If the same work was done twice, the longer text counts.
func Union(all ...*Part) (parts []*Part) {
	last := uint64(0)
	for _, p := range all {
		last = max(last, p.Run)
	}
	by := map[string]*Part{}
	for _, p := range all {
		if old := by[p.Work]; p.Run == last && (old == nil || cmp.Or(len(p.text)-len(old.text), bytes.Compare(p.text, old.text)) > 0) {
			by[p.Work] = p
		}
	}
	for _, p := range by {
		parts = append(parts, p)
	}
	slices.SortFunc(parts, func(a, b *Part) int { return cmp.Or(a.Of-b.Of, a.I-b.I, cmp.Compare(a.Work, b.Work)) })
	return parts
}

// Missing returns which of the parts are not there, as i/n.
func Missing(parts []*Part) (missing []string) {
	there := map[[2]int]bool{}
	for _, p := range parts {
		there[[2]int{p.I, p.Of}] = true
	}
	const most = 10
	of := 0
	for _, p := range parts {
		if p.Of == of {
			continue
		}
		of = p.Of
		for i := 1; i <= of && len(missing) < most; i++ {
			if !there[[2]int{i, of}] {
				missing = append(missing, fmt.Sprintf("%d/%d", i, of))
			}
		}
	}
	return missing
}
