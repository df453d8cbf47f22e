// Package window defines the input of the predictor: a window of consecutive events, the state before
// it that matters, and the witnesses of queries about it.
package window
