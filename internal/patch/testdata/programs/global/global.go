// Package global has package-level variables without a lock.
package global

var (
	total int // of all additions
	unit  = "s"
)

var last string

func add(n int) {
	if n < 0 {
		return
	}
	total += n
}

func remember(s string) (before string) {
	before = last
	last = s + unit
	return before
}
