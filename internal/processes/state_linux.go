package processes

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// stateOf returns the state of process id. If there is none, it is dead.
func stateOf(id int) state {
	s, _ := stateAndParent(id)
	return s
}

// stateAndParent returns the number of the parent, too.
func stateAndParent(id int) (s state, parent int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id))
	if err != nil {
		return state{dead: true}, 0
	}
	// The name of the program is in parentheses and may have any characters.
	_, rest, _ := strings.Cut(string(text[strings.LastIndexByte(string(text), ')')+1:]), " ")
	fields := strings.Fields(rest)
	if len(fields) < 20 {
		return state{dead: true}, 0
	}
	parent, _ = strconv.Atoi(fields[1])
	return state{start: fields[19], dead: fields[0] == "Z" || fields[0] == "X"}, parent
}

// children returns the processes that run, by the numbers of their parents.
func children() map[int][]Process {
	all := map[int][]Process{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if id, err := strconv.Atoi(e.Name()); err == nil {
			if s, parent := stateAndParent(id); !s.dead {
				all[parent] = append(all[parent], Process{id, s.start})
			}
		}
	}
	return all
}
