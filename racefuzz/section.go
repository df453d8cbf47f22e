package racefuzz

import "github.com/heisen-go/heisen/internal/core/strategies"

// SectionDirected tears atomic sections apart: a random walk in which who has made its
// access at Entry is postponed, wherever it stands, until another has made an access to
// that memory at Remote; and who is about to make that one is postponed until somebody is
// in such a section. If all are postponed, a random one goes on.
//
// Promise: every meeting is a violation: between the accesses of one task to the memory
// at Entry and End came one of another at Remote. Of a task only the latest access at
// Entry counts.
func SectionDirected(options ...StrategyOption) (Strategy, error) {
	return newPicked(strategies.Config{Strategy: strategies.SectionDirected}, "section-directed", options)
}
