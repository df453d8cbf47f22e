package cli

import (
	"fmt"

	"github.com/heisen-go/heisen/internal/confirm"
)

// summary prints the numbers of suspects, confirmed bugs and executions.
func (f *fuzzRun) summary() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.found.summary(f.Err)
	if f.strategy == "directed" {
		fmt.Fprintf(f.Err, "%s: %d of %d suspects confirmed in %d executions, %d of them harmful\n", f.tool.Name, f.confirmed, f.suspects, f.tried, f.harmful)
		f.searchSummary()
	} else {
		fmt.Fprintf(f.Err, "%s: %d executions\n", f.tool.Name, f.tried)
	}
	if f.stopped > 0 {
		fmt.Fprintf(f.Err, "%s: %d executions were stopped at a limit: %v of real time (-limit), or %v of virtual time (-virtual)\n",
			f.tool.Name, f.stopped, f.limit, f.virtual)
	}
}

// noteStopped counts an execution that was stopped at a limit. That is no bug.
func (f *fuzzRun) noteStopped(t *confirm.Trial) {
	if t.Execution.Outcome.Class == confirm.Hung {
		f.stopped++
	}
}
