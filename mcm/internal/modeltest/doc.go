// Package modeltest helps to test the searches of the predictor: it makes models of random windows,
// and checks answers by replaying their witnesses.
package modeltest
