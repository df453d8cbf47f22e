// Package quick has the stages of the predictor that answer a query without a search: the closure
// of the constraints, which decides many queries at once, greedy schedules, and schedules that keep
// the observed order of synchronization.
package quick
