package results

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestTable(t *testing.T) {
	table := NewTable("name", "a", "b|c")
	table.Add("first", 1, 2.5)
	table.Add("größer", "12 ms")
	var b strings.Builder
	if err := table.Print(&b); err != nil {
		t.Fatal(err)
	}
	const want = `| name   |     a | b\|c |
|--------|------:|-----:|
| first  |     1 | 2.50 |
| größer | 12 ms |      |

`
	if b.String() != want {
		t.Errorf("got\n%s", &b)
	}
}

// TestFormats: CSV and JSON have the cells of a table as programs read them, names of columns of which no
// two are the same, and what stands above the table.
func TestFormats(t *testing.T) {
	write := func(name string) string {
		var format Format
		if err := format.Set(name); err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		w := format.To(&b)
		for range 2 {
			fmt.Fprintf(w, "About\nit.\n\n")
			table := NewTable("name", "ms", "filter", "ms", "filter", "x|y")
			table.Add("a, b", 1, 2.345, Cell{1.5, "1.50x (of 3)"}, "0.70", math.NaN())
			table.Add(`|"`, "1, 4 ms", Cell{Text: "-"}, "", uint64(7))
			if err := table.Print(w); err != nil {
				t.Fatal(err)
			}
		}
		fmt.Fprint(w, "Left out.\n")
		return b.String()
	}
	const asCSV = "# About it.\nname,ms,filter,ms (2),filter (2),x|y\n\"a, b\",1,2.345,1.5,0.70,\n\"|\"\"\",\"1, 4 ms\",,,7,\n"
	if got := write("csv"); got != asCSV+"\n"+asCSV {
		t.Errorf("CSV is\n%s", got)
	}
	const asJSON = `{"command":"","machine":"","go":"","heisen":"","date":"","about":"About it.","columns":["name","ms","filter","ms (2)","filter (2)","x|y"],` +
		`"rows":[["a, b",1,2.345,1.5,0.70,null],["|\"","1, 4 ms",null,null,7,null]]}` + "\n"
	if got := write("json"); got != asJSON+asJSON {
		t.Errorf("JSON is\n%s", got)
	}
	tables := Read(write("markdown"))
	if len(tables) != 2 || !slices.Equal(tables[1].Columns, []string{"name", "ms", "filter", "ms", "filter", "x|y"}) ||
		!slices.Equal(tables[1].Rows[0], []string{"a, b", "1", "2.35", "1.50x (of 3)", "0.70", "NaN"}) || tables[1].Rows[1][0] != `|"` {
		t.Errorf("read from Markdown: %q", tables)
	}
	if err := new(Format).Set("xml"); err == nil {
		t.Error("a form that there is not is accepted")
	}
}

// TestConditionsFormats: CSV has the conditions once, JSON in each object.
func TestConditionsFormats(t *testing.T) {
	for name, want := range map[string]int{"csv": 1, "json": 2} {
		format := Format(name)
		var b strings.Builder
		w := format.To(&b)
		if err := Conditions(w, "./bench/noise"); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := NewTable("a").Print(w); err != nil {
				t.Fatal(err)
			}
		}
		if got := strings.Count(b.String(), "go run ./bench/noise"); got != want {
			t.Errorf("%s has the command %d times:\n%s", name, got, &b)
		}
	}
}

func TestConditions(t *testing.T) {
	before := os.Args
	defer func() { os.Args = before }()
	os.Args = []string{"noise", "-runs", "5"}
	day := time.Now().UTC().Format(time.DateOnly)
	var b strings.Builder
	if err := Conditions(&b, "./bench/noise"); err != nil {
		t.Fatal(err)
	}
	form := regexp.MustCompile("^`go run ./bench/noise -runs 5` on \\d+ × .+, \\w+/\\w+, .+, heisen .+, (\\d{4}-\\d\\d-\\d\\d)\\.\n\n$")
	if m := form.FindStringSubmatch(b.String()); m == nil || m[1] < day {
		t.Errorf("got %q", b.String())
	}
}

func TestCommandLine(t *testing.T) {
	const want = `go run ./bench/x -n 1 '-run=^(a|b) ' '' 'it'\''s'`
	if got := CommandLine("./bench/x", "-n", "1", "-run=^(a|b) ", "", "it's"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
