package vclock

// Slots lets tests see how long the clocks of a detector are.
func (f *FastTrack) Slots() int { return f.order.Slots() }

// Remembered returns how many threads, tenures and ranges of dropped threads an order stores.
func (o *Order) Remembered() (threads, tenures, ranges int) {
	o.threads.byID.Each(func(p **thread) {
		if *p != nil {
			threads++
		}
	})
	for _, s := range o.threads.slots {
		tenures += len(s.tenures)
	}
	return threads, tenures, len(o.threads.gone.ranges)
}

// Order returns the order of a detector.
func (f *FastTrack) Order() *Order { return f.order }

// CompactNow compacts the order, and drops all tenures that are not needed. With exactly, no access is dropped because all running threads have
// seen it, so that threads may begin without a Fork.
func (f *FastTrack) CompactNow(exactly bool) {
	f.ensureInit()
	f.order.threads.limits.perSlot = 0
	if exactly {
		f.order.threads.strangers = 1
	}
	f.compact()
}

// SetTinyLimits makes an order compact as often as it can, with few sealed slots.
func (o *Order) SetTinyLimits(sealed, perSlot int) {
	o.threads.limits = compactLimits{slots: 1, any: 1, tenures: 1, visits: 1, sealed: sealed, perSlot: perSlot}
	o.threads.planCompaction(0)
}

// SetSealedLimit sets the number of slots that may be sealed.
func (o *Order) SetSealedLimit(n int) { o.threads.limits.sealed = n }
