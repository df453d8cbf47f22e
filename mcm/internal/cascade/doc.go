// Package cascade answers the queries about one model by a list of stages, from cheap to expensive,
// until one of them has the answer.
//
// Algorithm. A stage has a name, a budget and a function. DefaultStages returns the list. It starts
// with the stages of package quick. The order solver follows where each read accepts one write;
// otherwise searches among states and the solver take turns with growing budgets. The cascade keeps
// what stages find, because most of it answers further queries. docs/design/prediction.md and
// docs/design/prediction-searches.md explain the stages.
//
// Guarantees. The answers Possible and Impossible are exact: a schedule is checked against the model
// before it becomes an answer, and a search only refutes a query if it is exhaustive. Unknown means
// that all budgets were spent.
//
// Cost. Budgets count states, points of a grid, conflicts and propagations, and not time, so that
// results do not depend on the machine. All of them are multiples of the conflicts and propagations
// that the solver may spend on one query. The searches are made when they are first needed.
//
// Concurrency. A Cascade belongs to one goroutine.
package cascade
