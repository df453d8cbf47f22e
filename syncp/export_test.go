package syncp

// ForgetHalf forgets the older half of the stream.
func (d *Detector) ForgetHalf() { d.forgetUntil(d.floor + (d.log.events-d.floor+1)/2) }
