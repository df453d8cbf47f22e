package words

import (
	"os/exec"
	"testing"
)

func TestSplit(t *testing.T) {
	if len(Split("a b")) != 2 {
		t.Error("not 2")
	}
}

func TestHello(t *testing.T) {
	if out, err := exec.Command("go", "run", "../hello").CombinedOutput(); err != nil || string(out) != "hello\n" {
		t.Error(string(out), err)
	}
}
