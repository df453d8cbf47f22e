// Package campaign brings suspected bugs about: it surveys programs for suspects, runs
// them under schedules that make the suspects happen, judges how the executions end,
// and shrinks the schedules of those that matter. It is what heisen fuzz and heisen
// replay do, after Sen: Race Directed Random Testing of Concurrent Programs (PLDI
// 2008).
package confirm
