// Command adversary generates random Go programs of which it is known what heisen must say, and tries heisen on them.
//
// A correct program is a test with goroutines. They share variables, each in one of many disciplines, and call fragments
// in random nests: functions of testdata/program that use a feature of Go or its library, and check what comes out. No
// mode of heisen may report anything about such a program, let it crash, or change its result. A program with a planted
// bug also calls a function of testdata/program with a bug that really can happen, which heisen fuzz must find.
//
//	go run ./internal/testaid/adversary [flags]
//
// Programs come in batches, many to a test binary. For each batch, the command goes through the modes of -modes, in this
// order:
//
//   - plain, race: go test and go test -race. A failure there is a fault of the generator, not of heisen;
//   - fasttrack, hb, leak, serial, mcm, predict: heisen test with these detectors;
//   - atomrace, sections: heisen test with atomrace and noise; with sections, also with inferred atomic sections, whose
//     violations are no false alarms;
//   - broken: programs that lack some synchronization. What atomrace reports must be confirmed by hb in the same run;
//   - fuzz, replay: heisen fuzz on each program, and one schedule of the whole batch twice, with the same execution. A batch
//     that talks to the network, for example, may need a third time;
//   - planted: heisen fuzz on each program with a bug, and heisen replay of what it finds;
//   - arm64: heisen test for that processor, if there is an emulator.
//
// Everything runs with GODEBUG=clobberfree=1, which overwrites memory that is freed.
//
// With -state, figures and the place where the command stopped are kept in a file, and the next call goes on there. -for
// limits the time of a call. A seed gives the same program each time. A program that fails is printed with its seed, the
// mode, and the command that tries it again; -minimize then looks for the smallest part of it that still fails, and -print
// shows its source.
//
// To add a feature or a bug, add a function with the line //adversary:fragment or //adversary:bug to testdata/program.
// Fragments that heisen is known to break are in the table of waiting.go, with the reason. -waiting tries them.
package main
