// Package module names the libraries that command bench/rivals compares heisen with. It is a module of its
// own, so that heisen does not depend on what it compares itself with. The command copies its go.mod.
package module

import (
	_ "github.com/sasha-s/go-deadlock"
	_ "go.uber.org/goleak"
)
