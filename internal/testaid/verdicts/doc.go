// Command verdicts runs test data with known verdicts for the Go releases and ports that this machine can run, and writes the
// table in docs/design/platforms.md.
//
//	go run ./internal/testaid/verdicts                       # list the cells of the table
//	go run ./internal/testaid/verdicts -run .                # run all
//	go run ./internal/testaid/verdicts -run linux/amd64      # run some
//	go run ./internal/testaid/verdicts -run . -missing       # go on with those that have no result
//
// A cell is the name of a port, a release and a suite, such as linux/arm64/1.27/race. Each result is written when it is there,
// and the others stay. The whole takes hours, most of which are for processors that are emulated.
//
// Programs for other processors need an emulator (qemu-aarch64-static, qemu-riscv64-static) and bounded address space, which
// the command sees to. Those for Windows need WINEPREFIX, with a Windows that the part wine of .ci/nightly has made. Go
// releases other than that of the go command come from the network, unless they are there.
package main
