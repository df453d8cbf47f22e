package heisen_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/trace"
	"github.com/heisen-go/heisen/vclock"
)

func races(file string) error {
	r, err := trace.Open(file)
	if err != nil {
		return err
	}
	defer r.Close()
	detector, err := vclock.NewFastTrack(vclock.WithSink(func(f heisen.Finding) {
		sites := r.Symbols()
		fmt.Println(f.Message+":", sites.Site(f.Accesses[1].Site), "and", sites.Site(f.Accesses[0].Site))
	}))
	if err != nil {
		return err
	}
	_, err = heisen.Run(context.Background(), r, detector)
	return err
}

// Detectors run over a recorded trace.
func Example() {
	if err := races("testdata/bank.std"); err != nil {
		fmt.Println(err)
	}
	// Output:
	// read races with earlier write: bank.go:7 and bank.go:7
	// write races with earlier write: bank.go:7 and bank.go:7
}

// TestReadme: the function that the README shows is the one of this file, to the
// letter.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(readme), "```go\n")
	shown, _, closed := strings.Cut(rest, "```")
	if !ok || !closed {
		t.Fatal("the README shows no Go")
	}
	self, err := os.ReadFile("readme_test.go")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(self), "\n"+shown+"\n") {
		t.Errorf("the README's code is not the one that is tested:\n%s", shown)
	}
}
