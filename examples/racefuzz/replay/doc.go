// Package replay has seven programs without a bug, one below each directory, for the
// test that an execution can be repeated. Each prints a journal of what it did, in the
// order in which it did it, which depends on everything that the runtime is free to
// choose: who goes on, which case of a select is taken, where the iteration over a map
// begins, which object a pool returns, what random numbers are drawn. So two executions
// that print the same made the same choices, and seldom do two that are left to
// themselves. At the end each checks what does not depend on any choice, and says so in
// a last line that is always the same.
//
//   - channels: unbuffered and buffered channels, closing, ranging, and channels sent
//     over channels;
//   - select: several ready cases, default, nil channels, sending and receiving;
//   - maps: the iteration order of maps, also with pointers for keys, sync.Map, and
//     math/rand;
//   - timers: Sleep, AfterFunc, Ticker, Timer, and deadlines of contexts;
//   - pool: sync.Pool and sync.Once;
//   - context: trees of contexts that are cancelled from several sides;
//   - group: goroutines of which the first that fails cancels the others.
package replay
