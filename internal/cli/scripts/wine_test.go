package scripts

import (
	"flag"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/heisen-go/heisen/internal/testaid/wine"
)

var (
	withWine      = flag.Bool("wine", false, "run the command for Windows under wine")
	windowsFolder = flag.String("windows", "", "`folder` in which wine's Windows is made, and kept")
)

// TestWineScripts runs the scripts in testdata/windows with the command for Windows, under wine, one after the other. In the
// environment, DRIVE_C is the folder of the drive C, and with NATIVE_PATH as the PATH the commands are those for the present
// system.
func TestWineScripts(t *testing.T) {
	if !*withWine {
		t.Skip("without -wine: it builds the go command and the standard library for Windows")
	}
	wine.Install(t, *windowsFolder)
	installed := wine.InstallGo(t)
	module, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	shims := t.TempDir()
	command := filepath.Join(shims, "heisen.exe")
	installed.Build(t, command, module, "./cmd/heisen")
	installed.Shims(t, shims, map[string]string{"heisen": command})
	usual := setup(t)
	params := testscript.Params{
		Setup: func(env *testscript.Env) error {
			if err := usual(env); err != nil {
				return err
			}
			env.Setenv("DRIVE_C", installed.DriveC())
			env.Setenv("NATIVE_PATH", env.Getenv("PATH"))
			env.Setenv("HEISEN_DIR", shims)
			env.Setenv("PATH", shims+string(filepath.ListSeparator)+env.Getenv("PATH"))
			return nil
		},
		Condition:           condition,
		RequireExplicitExec: true,
		Cmds:                commands,
	}
	own, err := filepath.Glob(filepath.Join("testdata", "windows", "*.txt"))
	if err != nil || len(own) == 0 {
		t.Fatal(own, err)
	}
	run := func(file string) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			p := params
			p.Files = []string{file}
			testscript.Run(t, p)
		})
	}
	for _, file := range own {
		run(file)
	}
}
