package controlled

import (
	"fmt"
	"strings"
	"testing"
)

// TestLastMessage: the one line about an exit is what is wrong, and no part of a usage text.
func TestLastMessage(t *testing.T) {
	long := ""
	for i := range 30 {
		long += fmt.Sprintf("  -flag%d int\n    \tthe number of a thing (default 1)\n", i)
	}
	for name, test := range map[string]struct{ printed, want string }{
		"a message":              {"starting\nsave: no space left\n", "save: no space left"},
		"nothing":                {"", ""},
		"package flag":           {"flag provided but not defined: -x\nUsage of /tmp/p:\n" + long, "flag provided but not defined: -x"},
		"after other output":     {"listening\n\nflag provided but not defined: -x\nUsage of p:\n  -n int\n", "flag provided but not defined: -x"},
		"a command with help":    {"flag provided but not defined: -x\nusage: p build [-o output]\nRun 'p help build' for details.\n", "flag provided but not defined: -x"},
		"sections":               {"Error: unknown flag: --x\nUsage:\n  p [flags]\n\nFlags:\n  -h, --help   help for p\n\nUse \"p [command] --help\" for more information.\n", "Error: unknown flag: --x"},
		"a name first":           {"Incorrect Usage: unknown option -x\n\nNAME:\n   p - a program\n\nUSAGE:\n   p [options]\n\nOPTIONS:\n   --help, -h  show help\n", "Incorrect Usage: unknown option -x"},
		"the message after it":   {"Usage: p <command>\n\nFlags:\n  -h, --help    Show help.\n\np: error: unknown flag --x\n", "p: error: unknown flag --x"},
		"nothing but usage":      {"usage: p file\n", "usage: p file"},
		"usage and what follows": {"usage: p file\np: open file: no such file\n", "p: open file: no such file"},
	} {
		if got := lastMessage(printedLines([]byte(test.printed))); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
		if last := lastLines([]byte(test.printed)); test.want != "" && !strings.Contains(strings.Join(last, "\n"), test.want) || len(last) > maxPrinted {
			t.Errorf("%s: the last lines are %q", name, last)
		}
	}
}
