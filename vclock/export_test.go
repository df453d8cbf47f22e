package vclock

// Slots lets tests see how long the clocks of a detector are.
func (f *FastTrack) Slots() int { return f.order.Slots() }
