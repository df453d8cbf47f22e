// Package correct has the types of package broken without their bugs: the lock is held over all
// steps, the last step looks again, or one atomic operation does both.
package correct
