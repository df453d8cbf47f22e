// Package replay has seven programs without a bug, one in each folder, for the test that
// an execution can be repeated. Each program prints a journal of its steps in their order.
// The journal depends on every choice that the runtime makes: which goroutine runs, which
// case of a select is taken, where the iteration over a map begins, which object a pool
// returns, which random numbers are drawn. Two executions with equal journals made the same
// choices, which hardly ever happens without control. At the end each program checks
// results that do not depend on any choice, and prints a last line that is always the
// same.
//
//   - channels: unbuffered and buffered channels, closing, ranging, and channels sent
//     over channels;
//   - select: several ready cases, default, nil channels, sending and receiving;
//   - maps: the iteration order of maps, also with pointers for keys, sync.Map, and
//     math/rand;
//   - timers: Sleep, AfterFunc, Ticker, Timer, and deadlines of contexts;
//   - pool: sync.Pool and sync.Once;
//   - context: trees of contexts that several goroutines cancel;
//   - group: goroutines, the first of which that fails cancels the others.
package replay
