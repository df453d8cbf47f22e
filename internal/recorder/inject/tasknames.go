//go:build heisen_inject

package runtime

import "unsafe"

// The names of tasks (places.go) in a program that prints its races itself, or may have to. Equal
// names have equal numbers, so that the many runs of a benchmark are one task. The functions run on
// the system stack and hold heisenTasks.lock, or only read what was written under it.

const heisenMaxTaskNames = 1 << 16

var heisenTaskNames struct {
	names uintptr // of heisenTaskText, by number; 0 is not used
	table uintptr // a hash table of twice as many numbers, with open addressing
	count uint32
}

// heisenTaskText is a string outside of the heap.
type heisenTaskText struct{ at, size uintptr }

// heisenTaskTextAt returns the entry of a name.
func heisenTaskTextAt(i uint32) *heisenTaskText {
	return (*heisenTaskText)(unsafe.Pointer(heisenTaskNames.names + uintptr(i)*unsafe.Sizeof(heisenTaskText{})))
}

func (x *heisenTaskText) text() string { return heisenString(x.at, x.size) }

// heisenNumberTask returns the number of a task with a name, and whether it was known before. The
// number is 0 if there is no room.
func heisenNumberTask(name string) (number uint32, known bool) {
	t := &heisenTaskNames
	if t.names == 0 {
		size := heisenMaxTaskNames*unsafe.Sizeof(heisenTaskText{}) + 2*heisenMaxTaskNames*4
		t.names = uintptr(heisenReserve(size))
		t.table = t.names + heisenMaxTaskNames*unsafe.Sizeof(heisenTaskText{})
	}
	if t.names == 0 {
		return 0, false
	}
	hash := uint64(len(name))
	for i := range len(name) {
		hash = (hash ^ uint64(name[i])) * 0x100000001b3
	}
	for i := heisenHash(hash) >> 40; ; i++ {
		at := (*uint32)(unsafe.Pointer(t.table + uintptr(i%(2*heisenMaxTaskNames))*4))
		if *at != 0 {
			if heisenTaskTextAt(*at).text() == name {
				return *at, true
			}
			continue
		}
		if t.count+1 == heisenMaxTaskNames {
			return 0, false
		}
		text := persistentalloc(uintptr(len(name)), 1, &memstats.other_sys)
		memmove(text, unsafe.Pointer(unsafe.StringData(name)), uintptr(len(name)))
		t.count++
		*heisenTaskTextAt(t.count) = heisenTaskText{uintptr(text), uintptr(len(name))}
		*at = t.count
		return t.count, false
	}
}

// heisenTaskName returns the name of a task, or the empty string if it is not known.
func heisenTaskName(number uint32) string {
	if number == 0 || number > heisenTaskNames.count {
		return ""
	}
	return heisenTaskTextAt(number).text()
}
