package recorder

import (
	"slices"
	"strings"

	"github.com/heisen-go/heisen/internal/core/wire"
)

// CollectEnv is the environment variable that makes programs, for tests, collect garbage while goroutines are stopped in hooks:
// at every Nth stop if its value is N.
const CollectEnv = "HEISEN_COLLECT"

// Environ returns the variables of env that the recorder does not read. Programs and go commands
// are started with these, so that the user's environment does not decide what the recorder does.
func Environ(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return name == wire.SocketEnv || name == wire.SymbolizeEnv
	})
}
