// Command hiddenprograms looks for false alarms of -hide in random programs.
//
//	go run ./internal/testaid/hiddenprograms [-n modules] [-seed number] [-keep folder]
//
// A random module has a package of containers and executors, which is hidden, and tests that use it.
// The containers differ in how they synchronize (mutexes, channels, condition variables, atomic
// variables, goroutines of their own, timers), in where they keep what they are given, in what
// variables of their package they use, and in what they call back. A test makes goroutines hand over
// variables, exclude each other, start tasks, and pass containers on to each other, also by calls
// back. Each variable is either synchronized in every execution, and its name begins with clean, or
// it races in some.
//
// The tests run with everything recorded and with the package hidden, for each detector that promises
// no false alarm. A finding about anything but a racing variable is wrong. How many of the racing
// variables are found is reported beside it.
package main
