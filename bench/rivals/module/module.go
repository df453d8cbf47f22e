// Package module names the tools that command bench/rivals compares heisen with. It is a module of its
// own, so that they are not dependencies of heisen. The command copies its go.mod.
package module

import (
	_ "github.com/sasha-s/go-deadlock"
	_ "go.uber.org/goleak"
)
