package enforce

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/internal/static"
)

// TestStalling: the locks whose names begin with patient are held over nothing that waits for another goroutine.
func TestStalling(t *testing.T) {
	p := module(t, map[string]string{"main.go": stallingSource})
	var got []string
	all := map[string]static.Key{}
	for _, u := range p.units {
		for _, s := range u.flow.steps {
			if s.lock != nil {
				all[s.lock.name] = s.lock.Class
			}
		}
	}
	stalls := p.stalling()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		last := name[strings.LastIndex(name, ".")+1:]
		if stalls[all[name]] == strings.HasPrefix(last, "patient") {
			t.Errorf("%s: stalling is %v", name, stalls[all[name]])
		}
		got = append(got, last)
	}
	if len(got) != 20 {
		t.Errorf("%d locks: %q", len(got), got)
	}
}

const stallingSource = `package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

var (
	patientPlain, patientNested, patientDeferred, patientMemory, patientBranch sync.Mutex
	patientRead                                                                sync.RWMutex

	sends, receives, selects, writes, reads, nests, nestsInCall, caller, passes, values, left sync.Mutex
)

var c = make(chan int)

func plain(b bool) {
	patientPlain.Lock()
	patientNested.Lock()
	fmt.Println("output")
	time.Sleep(1)
	patientNested.Unlock()
	patientPlain.Unlock()
	c <- 1
	if b {
		patientRead.RLock()
		patientRead.RUnlock()
		patientBranch.Lock()
		patientBranch.Unlock()
		<-c2()
	}
}

func c2() chan int { return nil }

func deferred() {
	patientDeferred.Lock()
	defer patientDeferred.Unlock()
	memory()
}

func memory() {
	patientMemory.Lock()
	defer patientMemory.Unlock()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", " ")
	e.Encode(1)
	json.NewEncoder(&b).Encode(2)
	fmt.Fprintf(&b, "%d", 3)
	var s strings.Builder
	io.WriteString(&s, "4")
}

func send() { sends.Lock(); c <- 1; sends.Unlock() }

func receive(w io.Writer) {
	receives.Lock()
	<-c
	receives.Unlock()
	selects.Lock()
	select {
	case <-c:
	}
	selects.Unlock()
	writes.Lock()
	fmt.Fprint(w, 1)
	writes.Unlock()
	reads.Lock()
	new(bytes.Buffer).ReadFrom(os.Stdin)
	reads.Unlock()
	nests.Lock()
	sends.Lock()
	sends.Unlock()
	nests.Unlock()
	nestsInCall.Lock()
	send()
	nestsInCall.Unlock()
	passes.Lock()
	passes.Unlock()
	use(&passes)
	values.Lock()
	unlock := values.Unlock
	unlock()
	leave()
	<-c
	left.Unlock()
}

func use(sync.Locker) {}

func leave() { left.Lock() }

type object struct {
	twice, patient sync.Mutex
	sync.Mutex
}

func both(a, b *object) {
	a.twice.Lock()
	b.twice.Lock()
	b.twice.Unlock()
	a.twice.Unlock()
	a.patient.Lock()
	a.patient.Unlock()
	b.patient.Lock()
	b.patient.Unlock()
	a.Lock()
	a.Unlock()
	caller.Lock()
	receive(nil)
	caller.Unlock()
}

func main() { plain(true); deferred(); both(nil, nil) }
`

// TestInterruptions: a goroutine that holds a lock between the two accesses of a pair may wait in a function that it
// calls. That is told with its place.
func TestInterruptions(t *testing.T) {
	p := module(t, map[string]string{"main.go": interruptedSource})
	pl := plan(t, p, pairsOf(t, p, "main.go", "example.com/m.closed", [][3]string{{"testr", "setw", "exclusive"}, {"againr", "overw", "exclusive"}, {"quietr", "quickw", "exclusive"}}))
	if len(pl.Refused) > 0 {
		t.Fatal(pl.Refused)
	}
	var got []string
	for _, i := range pl.Interruptions {
		got = append(got, i.String())
	}
	const broken = "example.com/m.closed: a pair in example.com/m.%s is not atomic if others get the lock in this operation, which may wait"
	want := []string{
		"main.go:17: " + strings.Replace(broken, "%s", "close", 1) + " at main.go:24",
		"main.go:29: " + strings.Replace(broken, "%s", "wait", 1),
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	files, err := pl.Files()
	if err != nil {
		t.Fatal(err)
	}
	text := string(files[filepath.Join(p.root, "main.go")])
	if strings.Contains(text, "Other(&mu)") || strings.Count(text, "Pause()") != 2 {
		t.Errorf("the locks are given up elsewhere:\n%s", text)
	}
	goWith(t, pl, "vet", "./...")
}

const interruptedSource = `package main

import (
	"os"
	"sync"
)

var (
	closed bool
	mu     sync.Mutex
)

func close(name string) {
	if closed { // test:
		return
	}
	save(name)
	closed = true // set:
}

func save(name string) {
	mu.Lock()
	mu.Unlock()
	os.WriteFile(name, nil, 0o666)
}

func wait(c chan int) {
	if !closed { // again:
		<-c
		closed = true // over:
	}
}

func quick() {
	mu.Lock()
	defer mu.Unlock()
	if !closed { // quiet:
		closed = true // quick:
	}
}

func main() {
	close("name")
	wait(nil)
	quick()
}
`
