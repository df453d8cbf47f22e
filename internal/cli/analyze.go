package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/report"
	"github.com/heisen-go/heisen/trace"
)

// analyze is heisen analyze: detectors over traces that exist already.
func (inv *invocation) analyze() (int, error) {
	detect := inv.detectFlag()
	asJSON := inv.flags.Bool("json", false, "print findings as JSON, one a line")
	if err := inv.parse(); err != nil {
		return Misused, err
	}
	files := append(inv.args, inv.rest...)
	if len(files) == 0 {
		return Misused, misuse("no trace")
	}
	found := newFindings(nil)
	done := inv.progress("analysing", time.Second)
	var failed error
	for _, file := range files {
		failed = errors.Join(failed, analyzeFile(inv, file, *detect, found))
	}
	done()
	print := report.WriteText
	if *asJSON {
		print = report.Encode
	}
	if err := found.write(inv.Out, print); err != nil {
		failed = errors.Join(failed, err)
	}
	if !*asJSON {
		found.summary(inv.Out)
	}
	switch {
	case failed != nil:
		return Failed, failed
	case found.count() > 0:
		return Findings, nil
	}
	return Clean, nil
}

func analyzeFile(inv *invocation, file string, detect detection, found *findings) error {
	r, err := trace.Open(file)
	if err != nil {
		return err
	}
	defer r.Close()
	collector, done := found.collect(r.Symbols())
	defer done()
	if _, err := heisen.Run(inv.ctx, r, detect.build(collector.Add)...); err != nil {
		return fmt.Errorf("%w", err)
	}
	return nil
}
