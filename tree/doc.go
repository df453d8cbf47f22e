// Package tree leaves redundant accesses out of a stream of events.
package tree
