// Package candidate lists the queries that the predictor asks about a model: pairs of accesses that
// may race, cycles of acquisitions that may deadlock, and accesses that may come between two
// accesses of a transaction or an atomic section.
//
// A candidate has the places, each a site and an op, by which its finding is told from others. The
// caller says of which places it wants more candidates, so that equal findings are not queried again.
package candidate
