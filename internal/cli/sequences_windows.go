package cli

import (
	"os"

	"golang.org/x/sys/windows"
)

// takesSequences makes the console of Windows understand the sequences of terminals, and reports whether it does: the
// releases before Windows 10 do not, and a device may be none.
func takesSequences(f *os.File) bool {
	console := windows.Handle(f.Fd())
	var mode uint32
	if err := windows.GetConsoleMode(console, &mode); err != nil {
		return false
	}
	return windows.SetConsoleMode(console, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
