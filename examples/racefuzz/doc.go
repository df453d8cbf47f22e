// Package racefuzz has programs with races or suspected races, one in each folder. They are
// counterparts in Go of the programs and the two figures of "Race Directed Random Testing of
// Concurrent Programs" (Sen, PLDI 2008). If they can fail at all, they do so in schedules that
// hardly ever occur without control. With -fixed they do not fail.
//
//   - figure1, figure2: the paper's figures, statement by statement;
//   - cache: a cache with a cleaner that can be woken before it sleeps (cache4j);
//   - crawler: a spider that is stopped with pages left (weblech, and as jspider much
//     that only looks like a race);
//   - search: a task that is canceled while it ends (hedc);
//   - upload: a server that counts without a lock (jigsaw is a server, too), with real
//     files and a real network;
//   - collections: bulk operations that iterate over another collection without its lock;
//   - moldyn, raytracer, montecarlo, sor: kernels, with barriers and sums;
//   - hidden: tests with a race, a deadlock and an atomicity violation;
//   - predicted: tests with races that random schedules hardly find, and with false suspects;
//   - replay: programs without a bug that print the order of their steps.
//
// The variable Programs lists for each program which pairs of accesses race, which only
// seem to race, and what the races do. Comments at the end of lines name statements:
// the comment race:x.size gives the line the name x.size.
package racefuzz
