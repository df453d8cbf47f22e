package controlled

import (
	"fmt"
	"slices"
	"strings"
)

// boolFlags and valueFlags are the flags of go test that make sense for a single controlled
// execution, without and with a value. The other flags are about several runs, measure time, write
// files, or choose what heisen chooses itself.
var (
	boolFlags  = []string{"v", "short", "failfast", "fullpath"}
	valueFlags = []string{"run", "skip", "count", "parallel", "shuffle"}
)

// TestFlags turns flags of go test into those of a test binary. The arguments after -args stay as
// they are.
func TestFlags(flags []string) (own []string, err error) {
	for i := 0; i < len(flags); i++ {
		flag := flags[i]
		if flag == "-args" || flag == "--args" {
			return append(own, flags[i+1:]...), nil
		}
		name, _, valued := strings.Cut(strings.TrimPrefix(strings.TrimLeft(flag, "-"), "test."), "=")
		switch {
		case !strings.HasPrefix(flag, "-"):
			return nil, fmt.Errorf("%s is not a flag of go test; arguments of the tests follow -args", flag)
		case slices.Contains(boolFlags, name) || slices.Contains(valueFlags, name) && valued:
			own = append(own, testFlag(flag))
		case slices.Contains(valueFlags, name):
			if i++; i == len(flags) {
				return nil, fmt.Errorf("%s needs a value", flag)
			}
			own = append(own, testFlag(flag)+"="+flags[i])
		default:
			return nil, fmt.Errorf("the go test flag -%s cannot be combined with controlled schedules", name)
		}
	}
	return own, nil
}

func testFlag(flag string) string {
	return "-test." + strings.TrimPrefix(strings.TrimLeft(flag, "-"), "test.")
}

// testArgs returns the arguments of a test binary such that it runs only the given tests, if any.
// The last of two equal flags counts, so the added flags follow the program's own flags, and
// precede its other arguments. It turns the time limit off, because time is virtual: the limit
// would end a test that only waits.
//
// Arguments that testArgs has returned, such as those of a schedule, stay the same: a replay with other
// arguments can be another execution.
func testArgs(own []string, tests string) []string {
	flags := 0
	for flags < len(own) && strings.HasPrefix(own[flags], "-test.") {
		flags++
	}
	var args []string
	if !slices.Contains(own[:flags], "-test.paniconexit0") {
		args = append(args, "-test.paniconexit0")
	}
	args = append(args, own[:flags]...)
	limit := ""
	for _, flag := range own[:flags] {
		if strings.HasPrefix(flag, "-test.timeout=") {
			limit = flag
		}
	}
	if limit != "-test.timeout=0" {
		args = append(args, "-test.timeout=0")
	}
	if tests != "" {
		args = append(args, "-test.run="+tests)
	}
	return append(args, own[flags:]...)
}
