package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/plural"
	"github.com/heisen-go/heisen/internal/private"
	"github.com/heisen-go/heisen/internal/recorder"
	"github.com/heisen-go/heisen/trace"
)

var recordCommand = command{
	name: "record", args: "-o trace.heisen [flags] (test | run) [arguments]",
	short: "record the events of a program, for $heisen analyze",
	long: `After test or run, the command line is that of $heisen test or $heisen run.

The trace can be read while it is written. If the command starts several
instrumented programs, as go test does, each has a trace of its own: t.heisen,
t-2.heisen and so on. -filter tree leaves out accesses that make no difference to
detectors that follow happens-before.
`,
	run: (*invocation).record,
}

// record is heisen record. It writes the events to a file.
func (inv *invocation) record() (int, error) {
	out := inv.flags.String("o", "", "write the trace to `file`")
	filter := inv.filterFlag(false)
	inv.buildFlags()
	inv.pairs = true
	if err := inv.verbLine(false); err != nil {
		return Misused, err
	}
	switch {
	case *out == "":
		return Misused, misuse("no -o file before %s", inv.line.verb)
	case inv.line.isTrue("c"):
		return Misused, misuse("with -c nothing runs, so nothing would be recorded")
	}
	if err := isFolder(filepath.Dir(*out)); err != nil {
		return Failed, err // fail before the program runs
	}
	defer inv.holdSignals()()
	cmd, remove, err := inv.goCommand()
	if err != nil {
		return Failed, err
	}
	defer remove()
	mode := recorder.Everything
	if *filter && inv.hidden == nil {
		mode = recorder.Unrepeated
	}
	gaps := inv.gaps(mode)
	s, err := newSession(inv, mode, nil, func(number int, _ *recorder.Program, stream *recorder.Stream) (int32, error) {
		return Clean, inv.writeTrace(numbered(*out, number), stream, gaps)
	})
	if err != nil {
		return Failed, err
	}
	status, err := s.run(cmd)
	if status == Clean && err == nil && s.seen == 0 {
		err = errors.New("no instrumented program ran, so nothing was recorded")
	}
	if status = s.status(status, 0); status == Clean && err != nil {
		status = Failed
	}
	return status, err
}

// numbered returns the file name for process n, from 0: the name itself, then name-2.ext and so on.
func numbered(name string, n int) string {
	if n == 0 {
		return name
	}
	ext := filepath.Ext(name)
	return fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, ext), n+1, ext)
}

// writeTrace writes a stream to a new file. The file is a complete trace of the events so far,
// whatever ends the stream.
func (inv *invocation) writeTrace(name string, stream *recorder.Stream, gaps trace.Gaps) error {
	f, err := private.Create(name)
	if err != nil {
		return err
	}
	begun := begin(stream) // then it is known what is unseen
	gaps.Unseen = stream.Unseen().Reasons()
	w, err := trace.NewWriter(f, stream.Symbols(), trace.WithGaps(gaps))
	if err != nil {
		return errors.Join(err, f.Close())
	}
	events, err := heisen.Run(inv.ctx, begun, &growing{Writer: w})
	w.AddSkipped(stream.Skipped())
	if unseen := stream.Unseen(); unseen.Any() {
		fmt.Fprintf(inv.Err, "%s: %s may synchronize, which is not recorded: what seems unordered in the trace may be ordered\n", inv.tool.Name, strings.Join(unseen.Reasons(), ", "))
	}
	err = errors.Join(err, w.Close(), f.Close())
	fmt.Fprintf(inv.Err, "%s: %s: %s\n", inv.tool.Name, name, plural.Of(int(events), "event"))
	return err
}

// begun is a source of which the first events have been read.
type begun struct {
	heisen.Source
	first []heisen.Record
	err   error // that came with them
}

// begin reads the first events of a source.
func begin(source heisen.Source) *begun {
	b := &begun{Source: source, first: make([]heisen.Record, 1024)}
	n := 0
	n, b.err = source.Next(b.first)
	b.first = b.first[:n]
	return b
}

// Next implements heisen.Source.
func (b *begun) Next(batch []heisen.Record) (int, error) {
	if len(b.first) == 0 {
		if b.err != nil {
			return 0, b.err
		}
		return b.Source.Next(batch)
	}
	n := copy(batch, b.first)
	b.first = b.first[n:]
	return n, nil
}

// growing writes a trace that can be read at the same time. While events arrive, the file is at
// most a second behind.
type growing struct {
	*trace.Writer
	flushed time.Time
}

// HandleRecords implements heisen.RecordHandler. It looks at the clock once per batch: a stream that
// is slow has small batches.
func (g *growing) HandleRecords(records []heisen.Record) {
	g.Writer.HandleRecords(records)
	if now := time.Now(); now.Sub(g.flushed) >= time.Second {
		g.Flush() // an error stays with the writer until it is closed
		g.flushed = now
	}
}
