package confirm

import (
	"fmt"
	"slices"
	"strings"
)

// boolFlags and valueFlags are the flags of go test that the tests of one execution
// can be given, by whether a value follows. Others are about several runs, measure
// time, write files, or choose what heisen chooses here.
var (
	boolFlags  = []string{"v", "short", "failfast", "fullpath"}
	valueFlags = []string{"run", "skip", "count", "parallel", "shuffle"}
)

// TestFlags turns flags of go test into those of a test binary. What follows -args is
// the tests' own.
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

// testArgs returns the arguments of a test binary that is to run the given tests only,
// or all that its own arguments say. Of a flag that comes twice the last counts, and
// what follows the flags stays behind them. Time is virtual, so a time limit would end
// a test that does nothing but wait.
func testArgs(own []string, tests string) []string {
	args := []string{"-test.paniconexit0"}
	flags := 0
	for flags < len(own) && strings.HasPrefix(own[flags], "-test.") {
		flags++
	}
	args = append(args, own[:flags]...)
	args = append(args, "-test.timeout=0")
	if tests != "" {
		args = append(args, "-test.run="+tests)
	}
	return append(args, own[flags:]...)
}
