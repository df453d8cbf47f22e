package lock

// Holds is the number of different holds that a Held can have; their numbers are smaller than it.
const Holds = 31

// Held says how one call of a function holds the lock of one variable. The zero value holds nothing. It belongs to
// the goroutine of the call. A deferred Release belongs to it, so that nothing stays locked after a panic.
//
// A Held holds one lock at a time. If Acquire or Hold name another one, it releases the first before it waits.
//
// A method of a nil *Held does nothing, and so does an operation on a nil *Lock, with an invalid mode, or with a
// number of a hold that is out of range.
type Held struct {
	lock  *Lock
	outer *Held
	top   *Held // the outermost one around; nil if that is this one

	// around is the mode in which those around hold the same lock, while this one has reasons.
	around Mode
	// pauses is a number in the outermost one: how many are paused, of it and those within.
	pauses int32

	// reasons has two bits for the mode of each reason: the latest access, and then the holds.
	reasons uint64
	site    int

	// paused is the mode in which the lock was held when it was paused. It may have been taken away since, if
	// Lock.taken is not as taken says.
	paused Mode
	taken  uint32
}

// Inner returns a Held for a function that the one of h calls, or for another variable in the same function. It acts
// for the same goroutine: the two do not wait for each other, and Pause applies to both. While it holds the same lock
// as h, methods of h must not be called. A nil h stands for a caller that holds nothing.
func (h *Held) Inner() Held {
	switch {
	case h == nil:
		return Held{}
	case h.top == nil:
		return Held{outer: h, top: h}
	}
	return Held{outer: h, top: h.top}
}

// outermost returns the Held that has the number of pauses.
func (h *Held) outermost() *Held {
	if h.top != nil {
		return h.top
	}
	return h
}

// setPaused says in which mode the lock was held when it was paused, and Free if it is not paused.
func (h *Held) setPaused(mode Mode) {
	if h.paused > Free {
		h.outermost().pauses--
	}
	if mode > Free {
		h.outermost().pauses++
	}
	h.paused = mode
}

// Acquire waits until the lock is held at least in the given mode, for an access at site. Sites are numbers
// that the caller chooses. The access is the latest one from now on; the mode in which the lock was held for the one
// before it counts for this one, if it is stronger, until Degrade.
//
// It reports whether the goroutine held on to what it held of the lock before. It did not if that was another lock, or
// if it held the lock Shared and had to give way to another goroutine that did so too, when both wanted it in a
// stronger mode. Locks that package heal has placed are held in the mode Update then, so that this does not happen.
func (h *Held) Acquire(l *Lock, mode Mode, site int) (kept bool) {
	if h == nil || l == nil || mode == Free || mode > Exclusive {
		return true
	}
	if h.reasons == 0 && h.outer == nil && l.try(mode) { // mostly
		h.lock, h.reasons, h.site = l, uint64(mode), site
		return true
	}
	kept = h.add(l, 0, mode)
	h.site = site
	return kept
}

// Degrade holds the lock only in the given mode for its latest access, if that is at site. Free ends this reason.
// Otherwise, and if the mode is not weaker, nothing changes.
func (h *Held) Degrade(site int, mode Mode) {
	if h != nil && h.site == site {
		h.weaken(0, mode)
	}
}

// Keep ends the reason of the latest access, unless that is at one of the sites.
func (h *Held) Keep(sites ...int) {
	if h == nil {
		return
	}
	for _, site := range sites {
		if h.site == site {
			return
		}
	}
	h.weaken(0, Free)
}

// Hold waits until the lock is held at least in the given mode, and holds it until Unhold, whatever happens to the
// reason of the latest access. The number names the hold. The result is that of Acquire.
func (h *Held) Hold(l *Lock, mode Mode, number int) (kept bool) {
	if h == nil || l == nil || mode == Free || mode > Exclusive || number < 0 || number >= Holds {
		return true
	}
	return h.add(l, 2*(number+1), mode)
}

// Unhold ends a hold, if there is one with that number.
func (h *Held) Unhold(number int) {
	if h != nil && number >= 0 && number < Holds {
		h.weaken(2*(number+1), Free)
	}
}

// Release ends all reasons. It does nothing if there are none, and never waits.
func (h *Held) Release() {
	if h == nil || h.reasons == 0 {
		return
	}
	if mode := h.paused; mode > Free {
		h.setPaused(Free)
		h.reasons = 0
		if h.lock.resume(mode, h.taken) {
			h.lock.weaken(mode, Free)
		}
		return
	}
	if h.outer == nil {
		before := strongest(h.reasons)
		h.reasons = 0
		h.lock.weaken(before, Free)
		return
	}
	before := h.mode()
	h.reasons = 0
	if h.outermost().pauses > 0 {
		for outer := h.outer; outer != nil; outer = outer.outer {
			if outer.lock == h.lock && outer.paused > Free {
				return // its Resume sees to it
			}
		}
	}
	if h.around < before {
		h.lock.weaken(before, h.around)
	}
}

// Mode returns the mode in which the lock is held, for all reasons.
func (h *Held) Mode() Mode {
	if h == nil {
		return Free
	}
	return strongest(h.reasons)
}

// strongest returns the strongest mode of the reasons.
func strongest(reasons uint64) Mode {
	const low = 0x5555_5555_5555_5555
	ones, twos := reasons&low, reasons>>1&low
	switch {
	case ones&twos != 0:
		return Exclusive
	case twos != 0:
		return Update
	case ones != 0:
		return Shared
	}
	return Free
}

// mode returns the mode in which the goroutine holds the lock. There must be reasons.
func (h *Held) mode() Mode { return max(h.around, strongest(h.reasons)) }

// findAround returns the mode in which those around hold a lock.
func (h *Held) findAround(l *Lock) (mode Mode) {
	for outer := h.outer; outer != nil; outer = outer.outer {
		if outer.lock == l && outer.reasons != 0 {
			mode = max(mode, strongest(outer.reasons))
		}
	}
	return mode
}

// add makes a reason at least as strong as mode, and waits for the lock. The reason has its bits from shift on.
func (h *Held) add(l *Lock, shift int, mode Mode) (kept bool) {
	kept = true
	if h.outermost().pauses > 0 {
		kept = h.Resume()
	}
	if h.lock != l {
		kept = kept && h.reasons == 0
		h.Release()
		h.lock = l
	}
	if h.reasons == 0 {
		h.around = h.findAround(l)
	}
	before := h.mode()
	if mode > before {
		kept = l.strengthen(before, mode) && kept
	}
	if mode > Mode(h.reasons>>shift&3) {
		h.set(shift, mode)
	}
	return kept
}

// weaken makes a reason no stronger than mode.
func (h *Held) weaken(shift int, mode Mode) {
	if mode >= Mode(h.reasons>>shift&3) {
		return
	}
	if h.outermost().pauses > 0 {
		h.Resume()
	}
	before := h.mode()
	h.set(shift, mode)
	if after := h.mode(); after < before {
		h.lock.weaken(before, after)
	}
}

func (h *Held) set(shift int, mode Mode) {
	h.reasons = h.reasons&^(3<<shift) | uint64(mode)<<shift
}
