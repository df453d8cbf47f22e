package driver

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/heisen-go/heisen/internal/build"
	"github.com/heisen-go/heisen/internal/processes"
)

// renewedEnv is set for a command that has taken the place of an older one.
const renewedEnv = "HEISEN_RENEWED"

// sourceless are the subcommands that read no Go source, and need no go command.
var sourceless = []string{"analyze", "help", "trace", "version", "view"}

// renew replaces this process by one of a command that was built again, if the module in the working directory needs a
// newer Go release. It returns an error if that cannot be built. name is that of the command in messages.
func renew(name string, args []string) error {
	if len(args) == 0 || slices.Contains(sourceless, args[0]) || asksVersion(args) || os.Getenv(renewedEnv) != "" {
		return os.Unsetenv(renewedEnv) // it is not for the programs that are started
	}
	path, err := build.Rebuilt(context.Background(), "", func(needed string) {
		fmt.Fprintf(os.Stderr, "%s: building this command with %s, which the module needs\n", name, needed)
	})
	if path == "" || err != nil {
		return err
	}
	return processes.Replace(path, append(os.Args[:1:1], args...), append(os.Environ(), renewedEnv+"=1"))
}

// asksVersion reports whether go vet asks its tool what it is.
func asksVersion(args []string) bool {
	return len(args) == 1 && (args[0] == "-V=full" || args[0] == "-flags")
}
