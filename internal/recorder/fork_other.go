//go:build !linux

package recorder

import "os"

func (f *Forker) request(*os.File, *os.File) (connection, error) { return nil, errCannotFork }
