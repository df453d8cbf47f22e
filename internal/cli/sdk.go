package cli

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/heisen-go/heisen/internal/build"
)

var sdkCommand = command{
	name: "sdk", args: "-o dir [-copy]",
	short: "write a Go installation in which -race means $heisen",
	long: `It is for tools that know the flag -race and can be told which Go to use: editors,
debuggers, build systems.

  dir/bin/go test -race ./...

builds programs that look for races with the detector fasttrack and print reports
themselves, as those of $heisen build do. It needs no cgo, and the programs take
the options of GORACE. Without -race, everything is as in the Go installation that
the SDK was made from: that of the go command in the current folder.

Files that are the same are symbolic links. With -copy they are copies, and the
SDK can be moved or put into a container. An SDK that dir already is gets replaced;
make it again for each new version of Go or $heisen.

The go command of the SDK does not change to another Go release (GOTOOLCHAIN is
local): it says so if a module needs a newer one.
`,
	run: (*invocation).sdk,
}

// sdk is heisen sdk.
func (inv *invocation) sdk() (int, error) {
	dir := inv.flags.String("o", "", "the `folder` that becomes the Go installation")
	copied := inv.flags.Bool("copy", false, "copy what is the same, instead of linking to it")
	if err := inv.parse(); err != nil {
		return Misused, err
	}
	switch {
	case len(inv.args)+len(inv.rest) > 0:
		return Misused, misuse("it takes no arguments besides flags")
	case *dir == "":
		return Misused, misuse("-o dir is needed")
	}
	ctx, stop := inv.interruptible()
	defer stop()
	if err := inv.tryInstallation(ctx); err != nil {
		return Failed, err
	}
	done := inv.progress("building the go command", time.Second)
	t, err := build.WriteSDK(ctx, *dir, toolVersion(), *copied)
	done()
	if err != nil {
		return Failed, err
	}
	fmt.Fprintf(inv.Out, "%s: -race of %s is %s\n", filepath.Join(*dir, "bin", "go"), t.Version, inv.tool.Name)
	return Clean, nil
}
