package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/trace"
)

// trace is heisen trace, which has subcommands of its own.
func (inv *invocation) trace() (int, error) {
	if len(inv.args) == 0 {
		return Misused, misuse("none of stat, validate, convert, print")
	}
	verb := inv.args[0]
	inv.args = inv.args[1:]
	var work func(*trace.Reader, string) error
	before := func(file string, several bool) {}
	switch verb {
	case "stat":
		work = inv.stat
		before = inv.heading
	case "validate":
		work = inv.validate
	case "print":
		work = inv.print
	case "convert":
		return inv.convert()
	case "-h", "-help", "--help":
		inv.args = []string{verb}
	default:
		return Misused, misuse("%q is none of stat, validate, convert, print", verb)
	}
	if err := inv.parse(); err != nil {
		return Misused, err
	}
	files := append(inv.args, inv.rest...)
	if len(files) == 0 {
		return Misused, misuse("no trace")
	}
	var failed error
	for _, file := range files {
		before(file, len(files) > 1)
		failed = errors.Join(failed, withTrace(file, func(r *trace.Reader) error { return work(r, file) }))
	}
	if failed != nil {
		return Failed, failed
	}
	return Clean, nil
}

// withTrace opens a trace, in either format, for work.
func withTrace(file string, work func(*trace.Reader) error) error {
	r, err := trace.Open(file)
	if err != nil {
		return err
	}
	defer r.Close()
	return work(r)
}

// heading tells the traces of one command apart.
func (inv *invocation) heading(file string, several bool) {
	if several {
		fmt.Fprintf(inv.Out, "%s:\n", file)
	}
}

func (inv *invocation) stat(r *trace.Reader, _ string) error {
	stats := trace.NewStats()
	_, err := heisen.Run(inv.ctx, r, stats)
	_, werr := stats.WriteTo(inv.Out)
	return errors.Join(err, werr)
}

// validate prints what is impossible in a trace.
func (inv *invocation) validate(r *trace.Reader, file string) error {
	v, err := trace.Validate(r)
	if v == nil {
		return err
	}
	for _, problem := range v.Problems() {
		fmt.Fprintf(inv.Out, "%s: %v\n", file, problem)
	}
	if more := v.Total() - uint64(len(v.Problems())); more > 0 {
		fmt.Fprintf(inv.Out, "%s: and %d more\n", file, more)
	}
	if err != nil {
		return err
	}
	if v.Errors() > 0 {
		return fmt.Errorf("%s: %d of %d events are impossible", file, v.Errors(), v.Events())
	}
	fmt.Fprintf(inv.Out, "%s: %d events, valid\n", file, v.Events())
	return nil
}

func (inv *invocation) print(r *trace.Reader, _ string) error {
	_, err := heisen.Run(inv.ctx, r, trace.NewPrinter(inv.Out, r.Symbols()))
	return err
}

// convert writes a trace in the other format, or the one asked for.
func (inv *invocation) convert() (int, error) {
	out := inv.flags.String("o", "", "write to `file`; - is standard output")
	to := inv.flags.String("to", "", "target `format`: std or binary (default: the other one)")
	if err := inv.parse(); err != nil {
		return Misused, err
	}
	files := append(inv.args, inv.rest...)
	if *out == "" || len(files) != 1 {
		return Misused, misuse("convert takes -o and one trace")
	}
	if *to != "" && *to != string(trace.STD) && *to != string(trace.Binary) {
		return Misused, misuse("unknown format %q", *to)
	}
	done := inv.progress("converting", time.Second)
	defer done()
	err := withTrace(files[0], func(r *trace.Reader) error {
		format := trace.Format(*to)
		if format == "" {
			format = trace.Binary
			if r.Format() == trace.Binary {
				format = trace.STD
			}
		}
		if *out == "-" {
			return inv.writeAs(inv.Out, r, format)
		}
		f, err := os.Create(*out)
		if err != nil {
			return err
		}
		return errors.Join(inv.writeAs(f, r, format), f.Close())
	})
	if err != nil {
		return Failed, err
	}
	return Clean, nil
}

// writeAs copies a trace. What comes before a damaged place is written, and the
// copy is complete in itself.
func (inv *invocation) writeAs(w io.Writer, r *trace.Reader, format trace.Format) error {
	type writer interface {
		heisen.Detector
		Close() error
	}
	var out writer
	var err error
	if format == trace.STD {
		out, err = trace.NewSTDWriter(w, r.Symbols())
	} else {
		out, err = trace.NewWriter(w, r.Symbols())
	}
	if err != nil {
		return err
	}
	_, err = heisen.Run(inv.ctx, r, out)
	return errors.Join(err, out.Close())
}
