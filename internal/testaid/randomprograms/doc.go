// Command randomprograms generates random Go programs without data races and runs them under
// heisen. Every report is a false alarm.
//
// The programs share variables in many ways, and all accesses to a variable are ordered. They run
// with atomrace and noise, or with the detector of -detect.
//
// With -broken each program lacks some synchronization. Then the command compares what atomrace
// reports with what the happens-before detector hb reports in the same run. An overlap that hb does
// not confirm is a false alarm.
//
//	go run ./internal/testaid/randomprograms [-n programs] [-seed n] [-detect detector] [-broken]
package main
