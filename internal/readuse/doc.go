// Package readuse finds, in source code, what becomes of the values that lines read.
//
// A predictor may let a read see another value if nothing but plain writes depends on it (heisen.Decides;
// Huang, Meredith, Roşu, PLDI 2014). An instrumented program says at which line it accesses memory, and
// not which instruction that is. So the facts are about lines, and they are cautious: what is not known to
// be only written decides.
//
// Algorithm. The value of each load is followed through arithmetic, comparisons and conversions, within
// its function. It is free if all of this ends in one store on the line of the load. Branches, addresses,
// calls, results, channels, maps, interfaces, and operations that may panic decide.
//
// A store that the source has need not be an access of the running program: the compiler keeps variables
// on the stack, where it sees no need to report them. A decision on such a copy would not be seen. So a
// free read counts only if a write follows it in the recording, see Line.
package readuse
