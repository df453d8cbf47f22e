//go:build !linux

package recorder

import "os"

func request(connection, byte, *os.File, *os.File, *os.File) (connection, error) {
	return nil, errCannotFork
}

func connectionPair() (connection, *os.File, error) { return nil, nil, errCannotFork }

func wakeMonitor(*os.Process) {}
