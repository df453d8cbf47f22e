package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/plural"
	"github.com/heisen-go/heisen/internal/printable"
	"github.com/heisen-go/heisen/trace"
)

var traceCommand = command{
	name: "trace", args: "(stat | validate | convert | print) trace...",
	short: "inspect and convert traces",
	long: `  stat       count the events of traces
  validate   check that traces are possible executions
  convert    write a trace in the other format: -o file [-to std|binary] trace
  print      print the events of traces, one per line

The name - is standard input. -max-memory and -max-time change the limits, see
$heisen help analyze.
`,
	run: (*invocation).trace,
}

// trace is heisen trace, which has subcommands of its own.
func (inv *invocation) trace() (int, error) {
	if len(inv.args) == 0 && inv.help != noHelp {
		return Clean, inv.parse()
	}
	if len(inv.args) == 0 {
		return Misused, misuse("want one of stat, validate, convert, print")
	}
	verb := inv.args[0]
	var work func(context.Context, *trace.Reader, string) error
	heading := false
	switch verb {
	case "stat":
		work, heading = inv.stat, true
	case "validate":
		work = inv.validate
	case "print":
		work, heading = inv.print, true
	case "convert":
		inv.args = inv.args[1:]
		return inv.convert()
	case "-h", "-help", "--help":
		return Clean, inv.parse()
	default:
		return Misused, misuse("%q is none of stat, validate, convert, print", verb)
	}
	inv.args = inv.args[1:]
	limits := inv.allowanceFlags()
	files, err := inv.parseFiles()
	if err != nil {
		return Misused, err
	}
	g, stop := inv.guardFiles(limits, files...)
	defer stop()
	failed := g.do(func() (failed error) {
		for _, file := range files {
			if heading && len(files) > 1 {
				fmt.Fprintf(inv.Out, "%s:\n", file)
			}
			err := inv.withTrace(file, func(r *trace.Reader) error { return work(g.ctx, r, file) })
			failed = errors.Join(failed, err)
			if g.ctx.Err() != nil {
				break
			}
		}
		return failed
	})
	if failed != nil {
		return Failed, failed
	}
	return Clean, nil
}

func (inv *invocation) stat(ctx context.Context, r *trace.Reader, _ string) error {
	var stats trace.Stats
	_, err := heisen.Run(ctx, inv.guard.source(r), &stats)
	stats.Skipped, stats.Gaps = r.Skipped(), r.Gaps()
	_, werr := stats.WriteTo(inv.Out)
	return errors.Join(err, werr)
}

// validate prints the errors and warnings of a trace.
func (inv *invocation) validate(ctx context.Context, r *trace.Reader, file string) error {
	v, err := trace.NewValidator(r.Symbols())
	if err != nil {
		return err
	}
	events, err := heisen.Run(ctx, inv.guard.source(r), v)
	for _, problem := range v.Problems() {
		severity := "error"
		if problem.Warning {
			severity = "warning"
		}
		fmt.Fprintf(inv.Out, "%s: %s: %s\n", file, severity, printable.Text(problem.Error()))
	}
	if more := v.Total() - uint64(len(v.Problems())); more > 0 {
		fmt.Fprintf(inv.Out, "%s: and %d more\n", file, more)
	}
	switch {
	case err != nil:
		return err
	case v.Errors() > 0:
		return fmt.Errorf("%s: %s %s impossible", file, plural.Part(int(v.Errors()), int(events), "event"), plural.Form(int(v.Errors()), "is", "are"))
	}
	fmt.Fprintf(inv.Out, "%s: %s, valid\n", file, plural.Of(int(events), "event"))
	return nil
}

func (inv *invocation) print(ctx context.Context, r *trace.Reader, _ string) error {
	printer, err := trace.NewPrinter(inv.Out, r.Symbols())
	if err != nil {
		return err
	}
	_, err = heisen.Run(ctx, inv.guard.source(r), printer)
	return err
}

// convert writes a trace in the other format, or the one requested for.
func (inv *invocation) convert() (int, error) {
	out := inv.flags.String("o", "", "write to `file`; - is standard output")
	to := inv.flags.String("to", "", "target `format`: std or binary (default: the other one)")
	numbers := inv.flags.Bool("numbers", false, "write sites as numbers in a text trace, for analyzers that need it")
	limits := inv.allowanceFlags()
	files, err := inv.parseFiles()
	switch {
	case err != nil:
		return Misused, err
	case *out == "":
		return Misused, misuse("convert without -o file")
	case len(files) > 1:
		return Misused, misuse("convert takes one trace")
	case *to != "" && *to != string(trace.STD) && *to != string(trace.Binary):
		return Misused, misuse("unknown format %q", *to)
	}
	done := inv.progress("converting", time.Second)
	defer done()
	g, stop := inv.guardFiles(limits, files...)
	defer stop()
	err = g.do(func() error { return inv.convertTo(*out, *to, *numbers, files[0]) })
	if err != nil {
		return Failed, err
	}
	return Clean, nil
}

// convertTo writes a trace to a file, in a format.
func (inv *invocation) convertTo(out, to string, numbers bool, file string) error {
	return inv.withTrace(file, func(r *trace.Reader) error {
		f, err := inv.create(out, file)
		if err != nil {
			return err
		}
		err = inv.copyTrace(inv.guard.ctx, f, r, targetFormat(to, r.Format()), numbers)
		return errors.Join(err, f.Close())
	})
}

// targetFormat returns the requested format or, if none is requested, the other one than source.
func targetFormat(requested string, source trace.Format) trace.Format {
	switch {
	case requested != "":
		return trace.Format(requested)
	case source == trace.Binary:
		return trace.STD
	}
	return trace.Binary
}

// copyTrace writes a copy of r. The copy of a damaged trace ends before the damage and is itself
// complete.
func (inv *invocation) copyTrace(ctx context.Context, w io.Writer, r *trace.Reader, format trace.Format, numbers bool) error {
	type writer interface {
		heisen.Detector
		Close() error
	}
	var out writer
	var err error
	if format == trace.Binary {
		out, err = trace.NewWriter(w, r.Symbols(), trace.WithGaps(r.Gaps()))
	} else {
		options := []trace.STDWriterOption{trace.WithTextGaps(r.Gaps())}
		if numbers {
			options = append(options, trace.WithSiteNumbers())
		}
		out, err = trace.NewSTDWriter(w, r.Symbols(), options...)
	}
	if err != nil {
		return err
	}
	_, err = heisen.Run(ctx, inv.guard.source(r), out)
	if binary, ok := out.(*trace.Writer); ok {
		binary.AddSkipped(r.Skipped())
	}
	return errors.Join(err, out.Close())
}
