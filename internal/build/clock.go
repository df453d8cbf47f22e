package build

import (
	"fmt"
	"strings"
)

// addClock makes the clocks of the runtime those of the schedule in deterministic runs. On some
// ports the clock of package time is an assembly function, which gets another name.
func (o overlay) addClock(read func(string) ([]byte, error)) error {
	for assembly, name := range map[string]string{
		"runtime/time_linux_amd64.s":   "time·now<ABIInternal>(SB)",
		"runtime/time_windows_amd64.s": "time·now(SB)",
	} {
		text, err := read(assembly)
		if err != nil {
			return err
		}
		if strings.Count(string(text), "TEXT "+name) != 1 {
			return fmt.Errorf("%w GOROOT: %s: not one function time.now", ErrUnsupported, assembly)
		}
		o[assembly] = []byte(strings.Replace(string(text), "TEXT "+name, "TEXT "+strings.Replace(name, "time·now", "runtime·heisenClock", 1), 1))
	}
	for path, patches := range map[string][]patch{
		"runtime/time_nofake.go": {atStart("nanotime", "if heisenSched.on { return heisenSched.clock }")},
		"runtime/timeasm.go":     {dropDeclaration("time_now")},
		"runtime/timestub.go":    {atStart("time_now", "if heisenSched.on { return heisenNow() }")},
	} {
		text, err := read(path)
		if err != nil {
			return err
		}
		if o[path], err = apply(path, text, patches...); err != nil {
			return err
		}
	}
	return nil
}
