// Package solve has the stage of the predictor that answers queries with the solver of package
// mcm/order. It encodes the constraints of a model as clauses over the order of nodes. By default it
// adds a clause only when an order that the solver proposes violates it.
package solve
