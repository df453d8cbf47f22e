package static

import "testing"

// TeachLock adds a type of locks with readers to the table until the test ends. Its methods are those of sync.RWMutex, and
// others that do the same as one of them.
func TeachLock(t *testing.T, name string, others map[string]string) {
	t.Helper()
	if _, known := lockTypes[name]; known {
		t.Fatalf("%s is in the table", name)
	}
	methods := map[string]LockOp{}
	for method, op := range withReaders {
		methods[method] = op
	}
	for method, same := range others {
		methods[method] = withReaders[same]
	}
	lockTypes[name] = lockType{RWMutex, methods}
	t.Cleanup(func() { delete(lockTypes, name) })
}
