//go:build heisen_inject

package runtime

import "unsafe"

// heisenNumbers is a set of numbers: a hash table with open addressing. Its memory is never the heap's.
type heisenNumbers struct {
	entries uintptr // of 64 bits each; 0 is free
	size    uintptr // a power of 2
	count   uintptr
}

// add adds a number. 0 and 1 count as one. It reports whether it is new, and there was memory for it.
func (k *heisenNumbers) add(number uint64) bool {
	number = max(number, 1)
	if k.count >= k.size/2 && !k.grow() {
		return false
	}
	at := k.find(number)
	if *at == number {
		return false
	}
	*at = number
	k.count++
	return true
}

// find returns the entry of a number, or the free one where it belongs.
func (k *heisenNumbers) find(number uint64) *uint64 {
	for i := uintptr(number); ; i++ {
		at := k.entry(i & (k.size - 1))
		if *at == 0 || *at == number {
			return at
		}
	}
}

func (k *heisenNumbers) entry(i uintptr) *uint64 {
	return (*uint64)(unsafe.Pointer(k.entries + i*8))
}

// grow doubles the table. The old one is freed.
func (k *heisenNumbers) grow() bool {
	old := *k
	k.size = max(2*old.size, 1<<10)
	k.entries = uintptr(sysAlloc(k.size*8, &memstats.other_sys, "heisen numbers"))
	if k.entries == 0 {
		*k = old
		return false
	}
	for i := range old.size {
		if v := *old.entry(i); v != 0 {
			*k.find(v) = v
		}
	}
	if old.size != 0 {
		sysFree(unsafe.Pointer(old.entries), old.size*8, &memstats.other_sys)
	}
	return true
}
