// Package windowtest helps to test the predictor: it makes random windows that an execution can show,
// and enumerates all states of small ones as the reference for exactness.
package windowtest
