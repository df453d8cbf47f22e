// Package report shows findings to people and to other programs.
//
// A detector's Finding is made of numbers. The way from there is:
//
//	Collector   folds repeated findings into one Item with a count, a race that
//	            was seen in both orders into two
//	Resolve     turns an Item, the stream's Symbols and the source files into a
//	            Finding whose every field can be read without them
//	Allocations remembers where memory was allocated, for findings to say it
//	WriteText   prints a Finding in the manner of Go's own race reports
//	Encode      prints it as one line of JSON; Decode reads such lines back
//
// A Suppression, a line of a suppressions file, says which findings not to report.
//
// Sources finds the statement and the variable behind a source line. It works
// from syntax and from as much type information as the package's own files
// give, so it needs neither the go command nor compiled dependencies.
package report
