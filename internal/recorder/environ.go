package recorder

import (
	"slices"
	"strings"

	"github.com/heisen-go/heisen/internal/core/wire"
)

// CollectEnv is the environment variable that makes programs, for tests, collect garbage while goroutines are stopped in hooks:
// at every Nth stop if its value is N.
const CollectEnv = "HEISEN_COLLECT"

// Passes returns the environment variable for a go command that may reuse a result of a test only if the value was the same when the test
// ran.
func Passes(value string) string { return wire.PassesEnv + "=" + value }

// Environ returns the variables of env that the recorder does not read. Programs and go commands
// are started with these, so that the user's environment does not decide what the recorder does.
func Environ(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return name == wire.SocketEnv || name == wire.SymbolizeEnv || name == wire.PassesEnv
	})
}
