package build

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// tooDeep is what the linker says of a function that does not grow its stack if it and what it calls may need more than
// there is. The import path of a package has dots after its last slash only as %2e.
var tooDeep = regexp.MustCompile(`(?m)^(?:link: |.*/link: )?((?:[^\s:]*/)?[^\s:/.]+)\.([^\s:]+): nosplit stack over \d+ byte limit`)

// StackAdvice explains, a line for each, what to do about the functions that do not link according to what the go command
// has printed, because the calls of the recorder need stack, too.
func StackAdvice(printed string) (lines []string) {
	for _, m := range tooDeep.FindAllStringSubmatch(printed, -1) {
		pkg, function := strings.ReplaceAll(m[1], "%2e", "."), m[2]
		line := fmt.Sprintf("%s of package %s does not grow its stack (go:nosplit), and the calls of heisen need more of that than -race does: "+
			"leave the package out by -pkgs, with patterns that match others only, or mark the function //go:norace", function, pkg)
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}
