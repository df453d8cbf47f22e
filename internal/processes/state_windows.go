package processes

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"
)

// stateOf returns the state of process id. If there is none, it is dead. Its parent is not known.
func stateOf(id int) state {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION|windows.SYNCHRONIZE, false, uint32(id))
	if err != nil {
		return state{dead: true}
	}
	defer windows.CloseHandle(h)
	var created, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(h, &created, &exited, &kernel, &user); err != nil {
		return state{dead: true}
	}
	// A process that has ended exists while somebody has it open.
	ended, _ := windows.WaitForSingleObject(h, 0)
	return state{start: fmt.Sprintf("%019d", created.Nanoseconds()), dead: ended == windows.WAIT_OBJECT_0}
}

// children returns the processes that run, by the numbers of their parents. The number of a parent that has ended may belong to
// a process that is younger than the child.
func children() map[int][]Process {
	list, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPPROCESS, 0)
	if err != nil {
		return nil
	}
	defer windows.CloseHandle(list)
	parents, starts := map[int]int{}, map[int]string{}
	entry := windows.ProcessEntry32{}
	entry.Size = uint32(unsafe.Sizeof(entry))
	for err = windows.Process32First(list, &entry); err == nil; err = windows.Process32Next(list, &entry) {
		id := int(entry.ProcessID)
		if s := stateOf(id); !s.dead {
			parents[id], starts[id] = int(entry.ParentProcessID), s.start
		}
	}
	all := map[int][]Process{}
	for id, parent := range parents {
		if start := starts[parent]; start != "" && start <= starts[id] {
			all[parent] = append(all[parent], Process{id, starts[id]})
		}
	}
	return all
}
