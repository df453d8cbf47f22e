package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// A batch is a package of programs.
type batch struct {
	dir      string
	programs []program
}

// name is the name of the package and of its folder.
const name = "adversary"

// perFile is the number of programs in a file.
const perFile = 100

// write writes programs as a module into a new folder within dir. If there are no fragments, the programs need none of the
// files of the library but one.
func (r recipe) write(dir string, programs []program) (*batch, error) {
	above, err := os.MkdirTemp(dir, "batch-")
	if err != nil {
		return nil, err
	}
	b := &batch{dir: filepath.Join(above, name), programs: programs}
	if err := os.Mkdir(b.dir, 0o777); err != nil {
		return nil, err
	}
	files := map[string]string{"go.mod": "module " + name + "\n\ngo 1.25\n"}
	for name, text := range r.library.files {
		if r.fragments > 0 || r.planted || name == "run.go" {
			files[name] = text
		}
	}
	text := ""
	for i, p := range programs {
		text += "\n" + p.text
		if i%perFile == perFile-1 || i == len(programs)-1 {
			files[fmt.Sprintf("p%d_test.go", i/perFile)] = imports + text
			text = ""
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o666); err != nil {
			return nil, err
		}
	}
	return b, nil
}

const imports = `package adversary

import (
	"context"
	"fmt"
	"iter"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

var (
	_ = context.Background
	_ = fmt.Println
	_ iter.Seq[int]
	_ reflect.Value
	_ = runtime.Gosched
	_ sync.Mutex
	_ atomic.Bool
	_ testing.TB
	_ = synctest.Wait
	_ time.Duration
)
`

// remove removes the folder of a batch.
func (b *batch) remove() error { return os.RemoveAll(filepath.Dir(b.dir)) }
