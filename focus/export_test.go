package focus

import "github.com/heisen-go/heisen"

// CompactNow compacts the table of locksets, as if there were many.
func (f *Filter) CompactNow() { f.table.SetCompactAbove(0); f.compact() }

// CompactNow compacts the table of locksets and the order of messages, as if there was much to forget.
func (d *Discoverer) CompactNow() {
	d.table.SetCompactAbove(0)
	d.compact()
	d.compactOrder()
}

// Forget bounds what the filter remembers of sites and places.
func (f *Filter) Forget(bound int) {
	f.variables.sites = heisen.Site(bound)
	f.trust.places = bound
}

// Forget bounds what the discoverer remembers of sites.
func (d *Discoverer) Forget(bound int) { d.variables.sites = heisen.Site(bound) }
