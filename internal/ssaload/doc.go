// Package ssaload loads Go packages and builds their SSA form, for analyses of source code.
//
// A [Source] says which packages. [Build] needs only the types of imports, so each package is analyzed
// alone. A [Path] says how a function reaches a variable.
//
// Values of this package may be read by several goroutines at a time. Loading runs the go command.
package ssaload
