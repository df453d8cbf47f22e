// Package racefuzz has programs that race, or seem to, one below each directory. They
// are counterparts in Go of those on which "Race Directed Random Testing of Concurrent
// Programs" (Sen, PLDI 2008) was evaluated, and its two figures. Each goes wrong, if it
// can at all, in orders that hardly ever happen by themselves; with -fixed it does not.
//
//   - figure1, figure2: the paper's figures, statement by statement;
//   - cache: a cache with a cleaner that can be woken before it sleeps (cache4j);
//   - crawler: a spider that is stopped with pages left (weblech, and as jspider much
//     that only looks like a race);
//   - search: a task that is cancelled while it ends (hedc);
//   - upload: a server that adds up without a lock (jigsaw is a server, too), with real
//     files and a real network;
//   - collections: bulk operations that go over another collection without its lock;
//   - moldyn, raytracer, montecarlo, sor: kernels, with barriers and sums;
//   - hidden: tests with a race, a deadlock and a torn reservation;
//   - predicted: tests with races that luck hardly finds, and with what only looks like one;
//   - replay: programs without a bug, whose output is the order of what they did.
//
// Programs says of each which pairs of accesses race, which only look so, and what
// happens then. Statements are named by marks in comments at the end of their lines:
// race:x.size marks a line as x.size.
package racefuzz
