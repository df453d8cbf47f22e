package processes

import (
	"bufio"
	"os/exec"
	"strconv"
	"testing"
)

// started starts a command and returns three processes once they run: it and those below it, each of which prints its number.
func started(t *testing.T, cmd *exec.Cmd) (all []Process) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for range 3 {
		if !lines.Scan() {
			t.Fatal("the processes do not start")
		}
		id, err := strconv.Atoi(lines.Text())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, Find(id))
	}
	return all
}
