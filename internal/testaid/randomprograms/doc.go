// Randprog generates random Go programs that share variables in many ways, all of
// them in order, and runs them with atomrace and noise, or with -detect fasttrack:
// whatever is reported is a false alarm. With -broken each program leaves some synchronisation out, and what
// atomrace reports is compared with what the happens-before reference, hb, finds
// in the same run.
//
//	go run ./internal/testaid/randomprograms [-n programs] [-seed n] [-detect detector] [-broken]
package main
