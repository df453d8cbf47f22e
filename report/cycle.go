package report

import (
	"strings"

	"github.com/heisen-go/heisen"
)

// isCycle reports whether a finding is a deadlock of threads that wait for locks. Each access then
// wants a lock that the thread of the next access holds.
func isCycle(f *heisen.Finding) bool {
	if f.Kind != heisen.Deadlock || len(f.Accesses) == 0 {
		return false
	}
	for _, a := range f.Accesses {
		if a.Op != heisen.Acquire && a.Op != heisen.AcquireShared {
			return false
		}
	}
	return true
}

// cycle names the locks of a deadlock such that each is held where the next one is wanted. It begins
// with the lock that the first thread holds. A lock that two threads in a row wait for, such as a
// reader that waits for a writer and the writer for another reader, stands there once. accesses are
// the resolved accesses of the finding.
func cycle(f *heisen.Finding, accesses []Access) []string {
	var locks []heisen.Object
	names := map[heisen.Object]string{}
	n := len(f.Accesses)
	for i := range n {
		a := f.Accesses[(i+n-1)%n]
		if names[a.Object] == "" {
			names[a.Object] = lockName(&accesses[(i+n-1)%n])
		}
		if len(locks) == 0 || locks[len(locks)-1] != a.Object {
			locks = append(locks, a.Object)
		}
	}
	if len(locks) > 1 && locks[0] == locks[len(locks)-1] {
		locks = locks[:len(locks)-1]
	}
	shared := map[string]int{} // how many locks have the name
	for _, name := range names {
		shared[name]++
	}
	for i := range accesses { // a lock may be held by the name by which another one is wanted
		for _, held := range accesses[i].Locks {
			for j := range accesses {
				if held.Variable == accesses[j].Variable && held.Lock != accesses[j].Object {
					shared[held.Variable] += 2
				}
			}
		}
	}
	var out []string
	for _, l := range locks {
		name := names[l]
		if shared[name] > 1 { // the expression denotes several locks
			for i, a := range f.Accesses {
				if a.Object == l {
					name += " " + accesses[i].Object
					break
				}
			}
		}
		out = append(out, name)
	}
	return append(out, out[0])
}

// lockName returns the expression of the lock of an access, if it is known, else its name or address, behind the expressions
// of which it is one.
func lockName(a *Access) string {
	if a.Variable != "" {
		return a.Variable
	}
	return strings.TrimSpace(a.Expression() + " " + a.Object)
}
