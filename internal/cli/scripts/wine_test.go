package scripts

import (
	"flag"
	"os"
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

// TestWineScripts runs scripts with the command for Windows, under wine.
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
	files := strings.Split(os.Getenv("WINE_SCRIPTS"), " ")
	for i, f := range files {
		files[i] = filepath.Join("testdata", "script", f+".txt")
	}
	usual := setup(t)
	params := testscript.Params{
		Files: files,
		Setup: func(env *testscript.Env) error {
			if err := usual(env); err != nil {
				return err
			}
			env.Setenv("HEISEN_DIR", shims)
			env.Setenv("PATH", shims+string(filepath.ListSeparator)+env.Getenv("PATH"))
			return nil
		},
		Condition:           condition,
		RequireExplicitExec: true,
		Cmds:                commands,
	}
	testscript.Run(t, params)
}
