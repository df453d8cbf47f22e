// Package cascade answers the queries about one model by a list of stages, from cheap to expensive,
// until one of them has the answer.
//
// Each stage has a name, a budget and a function. Budgets are counted in steps and not in time, so
// that results do not depend on the machine. The cascade keeps the states and orders that a stage
// finds, because most of them answer further queries.
package cascade
