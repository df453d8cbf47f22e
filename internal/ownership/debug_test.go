package ownership

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/internal/ssaload"
)

func TestDebug(t *testing.T) {
	dir := os.Getenv("OWN_DIR")
	if dir == "" {
		t.Skip()
	}
	r, err := Analyze(context.Background(), ssaload.Source{Dir: dir, Packages: strings.Fields(os.Getenv("OWN_PKGS")), Tests: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range r.Variables {
		fmt.Println(v.Name, v.Owner, v.Safe)
		for _, x := range v.Reasons {
			fmt.Println("   ", x)
		}
	}
	if os.Getenv("OWN_LINES") != "" {
		for name, file := range r.Plan.Files {
			if strings.Contains(name, os.Getenv("OWN_LINES")) {
				fmt.Println(name, "R", file.Reads, "W", file.Writes)
			}
		}
	}
}
