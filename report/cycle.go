package report

import "github.com/heisen-go/heisen"

// isCycle reports whether a finding is a deadlock of threads that wait for
// locks. Then each access wants what the next one holds.
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

// cycle names the locks of a deadlock: each is held where the next one is
// wanted, beginning with what the first access wants the next one of. A lock on
// both sides of which threads wait, readers for a writer and he for a reader,
// stands there once. accesses are the finding's as resolved.
func cycle(f *heisen.Finding, accesses []Access) []string {
	var locks []heisen.Object
	names := map[heisen.Object]string{}
	n := len(f.Accesses)
	for i := range n {
		a := f.Accesses[(i+n-1)%n]
		if names[a.Object] == "" {
			names[a.Object] = lockName(accesses[(i+n-1)%n].Variable, accesses[(i+n-1)%n].Object)
		}
		if len(locks) == 0 || locks[len(locks)-1] != a.Object {
			locks = append(locks, a.Object)
		}
	}
	if len(locks) > 1 && locks[0] == locks[len(locks)-1] {
		locks = locks[:len(locks)-1]
	}
	shared := map[string]int{} // how many locks have a name
	for _, name := range names {
		shared[name]++
	}
	var out []string
	for _, l := range locks {
		name := names[l]
		if shared[name] > 1 { // one expression denotes several locks
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

// lockName is what people call a lock: the expression, if it is known, or the
// name or address.
func lockName(variable, object string) string {
	if variable != "" {
		return variable
	}
	return object
}

// ruled are the locks that a finding is about besides those held at its
// accesses. Where one is held at an access, its expression there is known.
func (r resolver) ruled(f *heisen.Finding) (out []Lock) {
	for _, l := range f.Locks {
		lock := Lock{Lock: r.symbols.Name(l)}
		for _, a := range f.Accesses {
			for _, held := range r.symbols.Locks(a.Context) {
				if held.Lock == l && lock.Site == "" {
					lock = r.lock(held)
				}
			}
		}
		out = append(out, lock)
	}
	return out
}
