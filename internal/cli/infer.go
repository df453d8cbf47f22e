package cli

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/heisen-go/heisen/focus"
	"github.com/heisen-go/heisen/internal/ownership"
	"github.com/heisen-go/heisen/internal/plural"
	"github.com/heisen-go/heisen/internal/private"
	"github.com/heisen-go/heisen/internal/ssaload"
)

var inferCommand = command{
	name: "infer", args: "[flags] [packages]",
	short: "find out from source what guards what, as a plan for -focus",
	long: `For each field of a struct type and each package-level variable, $heisen infer
finds out from source how the program keeps accesses by several goroutines apart,
and prints it:

  guarded     whoever accesses it holds a lock, which is named
  read-only   nobody writes it after other goroutines know the object
  local       only the goroutine that has the object accesses it, or no other
              goroutine runs
  race-unsafe none of these can be proved; the places show why

Behind them it prints which of the functions that use locks or atomic variables are
atomic: each execution is equivalent to one that no other goroutine interrupts. Those
that use them in several steps are printed with the second one. Others are left out,
such as those that wait, or that call what cannot be analyzed.

It writes what it has proved to a plan, with the lines on which nothing needs to be
recorded. $heisen test -focus and the like then leave them out, and report the same
races.

Annotations in the form of gVisor's analyzer checklocks are read: a variable with
+checklocks:mu is only safe if mu guards it. If that cannot be proved, the report
says so, and the exit status is 66. With -annotate, $heisen infer prints a patch
that adds such annotations for what it has proved, for git apply; it writes no plan.

Nothing is run. What is proved holds for programs that have no other packages of
the module than those named and their imports, with their tests. -focus checks
that. Without packages, ./... is meant.
`,
	run: (*invocation).inferPlan,
}

// inferPlan is heisen infer. It writes a plan and prints what guards what.
func (inv *invocation) inferPlan() (int, error) {
	source := ssaload.Source{Tests: true}
	file := inv.flags.String("plan", "heisen.plan", "write the plan to `file`")
	annotate := inv.flags.Bool("annotate", false, "print a patch with annotations of what is proved, and write no plan")
	quiet := inv.flags.Bool("q", false, "print only the number of variables")
	inv.flags.Func("tags", "comma-separated `list` of build tags", func(list string) error {
		source.Tags = strings.Split(list, ",")
		return nil
	})
	if err := inv.parse(); err != nil {
		return Misused, err
	}
	if len(inv.rest) > 0 {
		return Misused, misuse("infer runs nothing, so there are no arguments after --")
	}
	if source.Packages = inv.args; len(source.Packages) == 0 {
		source.Packages = []string{"./..."}
	}
	if err := isFolder(filepath.Dir(*file)); err != nil {
		return Failed, err // fail before the work
	}
	done := inv.progress("analyzing", time.Second)
	ctx, stop := inv.interruptible()
	defer stop()
	result, err := ownership.Analyze(ctx, source)
	done()
	if err != nil {
		return Failed, err
	}
	if *annotate {
		return inv.annotate(result)
	}
	if err := private.Replace(*file, result.Plan.Encode); err != nil {
		return Failed, err
	}
	here, err := absolute(".")
	if err != nil {
		return Failed, err
	}
	if !*quiet {
		printOwners(inv.Out, result, here)
		printFunctions(inv.Out, result, here)
	}
	safe := 0
	for i := range result.Variables {
		if result.Variables[i].Safe {
			safe++
		}
	}
	atomic := 0
	for i := range result.Functions {
		if result.Functions[i].Atomicity <= focus.Atomic {
			atomic++
		}
	}
	fmt.Fprintf(inv.Err, "%s: %s: %s cannot race, %s %s atomic\n", inv.tool.Name, *file, plural.Part(safe, len(result.Variables), "variable"),
		plural.Part(atomic, len(result.Functions), "function"), plural.Form(atomic, "is", "are"))
	return inv.wrongAnnotations(result)
}

// annotate prints a patch with annotations.
func (inv *invocation) annotate(result *ownership.Result) (int, error) {
	here, err := absolute(".")
	if err != nil {
		return Failed, err
	}
	skipped, err := result.WriteAnnotations(inv.Out)
	for _, reason := range skipped {
		fmt.Fprintf(inv.Err, "%s: %s\n", inv.tool.Name, place(reason, here))
	}
	if err != nil {
		return Failed, err
	}
	return inv.wrongAnnotations(result)
}

// wrongAnnotations says how many annotations of the source do not hold, or cannot be proved.
func (inv *invocation) wrongAnnotations(result *ownership.Result) (int, error) {
	wrong, seen := 0, 0
	for i := range result.Variables {
		if v := &result.Variables[i]; len(v.Annotated) > 0 && !v.Safe {
			wrong++
			if v.Seen {
				seen++
			}
		}
	}
	if wrong == 0 {
		return Clean, nil
	}
	fmt.Fprintf(inv.Err, "%s: %s %s race-unsafe despite annotations", inv.tool.Name, plural.Of(wrong, "variable"), plural.Form(wrong, "is", "are"))
	if seen > 0 {
		fmt.Fprintf(inv.Err, ", %d of them only by accesses that are not seen", seen)
	}
	fmt.Fprintln(inv.Err)
	return Findings, nil
}

// maxReasons bounds the reasons that are printed of a variable.
const maxReasons = 8

// printOwners prints what guards what, type by type.
func printOwners(w io.Writer, result *ownership.Result, here string) {
	type group struct{ pkg, typ string }
	last := group{}
	for i := range result.Variables {
		v := &result.Variables[i]
		if g := (group{v.Name.Package, v.Name.Type}); g != last {
			fmt.Fprintf(w, "%s\n", strings.TrimSuffix(cmp.Or(typeName(v.Name), "package "+g.pkg), "."))
			last = g
		}
		if v.Safe {
			fmt.Fprintf(w, "\t%s: %s\n", v.Name.Name, v.Owner)
			continue
		}
		fmt.Fprintf(w, "\t%s: race-unsafe", v.Name.Name)
		if len(v.Annotated) > 0 {
			fmt.Fprintf(w, ", annotated as guarded by %s", strings.Join(v.Annotated, " and "))
		}
		switch {
		case v.Seen:
			fmt.Fprintf(w, ", though %s in all accesses that are seen", v.Owner)
		case len(v.Annotated) == 0 && v.Owner.Kind != focus.Unknown:
			fmt.Fprintf(w, ", though mostly %s", v.Owner)
		}
		fmt.Fprintln(w)
		for i, reason := range v.Reasons {
			if more := len(v.Reasons) - i; i == maxReasons && more > 1 {
				fmt.Fprintf(w, "\t\tand %d more\n", more)
				break
			}
			fmt.Fprintf(w, "\t\t%s\n", place(reason, here))
		}
	}
}

// printFunctions prints which functions are atomic, package by package, and which take several steps.
func printFunctions(w io.Writer, result *ownership.Result, here string) {
	last := ""
	for i := range result.Functions {
		f := &result.Functions[i]
		if f.Test || !f.Sync || f.Atomicity != focus.Atomic && !f.Steps {
			continue
		}
		pkg, name := splitFunction(string(f.Name))
		if pkg != last {
			fmt.Fprintf(w, "functions of %s\n", pkg)
			last = pkg
		}
		if f.Atomicity == focus.Atomic {
			fmt.Fprintf(w, "\t%s: atomic\n", name)
		} else {
			fmt.Fprintf(w, "\t%s: several steps\n\t\t%s\n", name, place(f.Reason, here))
		}
	}
}

// splitFunction returns the package of a function, and its name there.
func splitFunction(name string) (pkg, rest string) {
	slash := strings.LastIndexByte(name, '/') + 1
	last, rest, _ := strings.Cut(name[slash:], ".")
	return name[:slash] + last, rest
}

// typeName returns the name of the type that has a field, or nothing for a package-level variable.
func typeName(v focus.Variable) string {
	if v.Type == "" {
		return ""
	}
	name := focus.Variable{Package: v.Package, Name: v.Type}
	return "type " + name.String()
}

// place returns a reason with the place where it applies.
func place(reason ownership.Reason, here string) string {
	if reason.File == "" {
		return reason.Text
	}
	return fmt.Sprintf("%s:%d: %s", relative(here, reason.File), reason.Line, reason.Text)
}
