package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode"
)

// hostile is a text that tries to clear the screen, to end the report and to turn the direction.
const hostile = "x\x1b[2J\u009b2J\x9b\u202e\n==================\r"

// fill sets all texts of a value, and makes slices of one element and pointers to something.
func fill(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), text)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), text)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), text)
	case reflect.Int, reflect.Int64, reflect.Uint64, reflect.Uint32, reflect.Bool:
	default:
		panic(fmt.Sprint("what is ", v.Type()))
	}
}

// TestHostileTexts: whatever a finding has in its fields, its report has the same lines as with
// harmless texts, and only graphic characters. In JSON it is the same finding.
func TestHostileTexts(t *testing.T) {
	for _, kind := range []string{"", "race", "atomicity", "deadlock", "leak", "misuse", "failure"} {
		report := func(text string) (*Finding, string) {
			var f Finding
			fill(reflect.ValueOf(&f).Elem(), text)
			if kind != "" {
				reflect.ValueOf(&f.Kind).Elem().SetString(kind)
			}
			if kind != "deadlock" {
				f.Cycle = nil
			}
			before := fmt.Sprintf("%#v", f)
			var b bytes.Buffer
			if err := WriteText(&b, &f); err != nil {
				t.Fatal(err)
			}
			if after := fmt.Sprintf("%#v", f); after != before {
				t.Errorf("WriteText changes the finding")
			}
			return &f, b.String()
		}
		f, got := report(hostile)
		_, want := report("x")
		if strings.Count(got, "\n") != strings.Count(want, "\n") || strings.Count(got, "\n"+frameLine) != 1 {
			t.Errorf("lines of its own:\n%s", got)
		}
		for _, line := range []string{got, f.String() + "\n", f.Blocked[0].String()} {
			for _, r := range line {
				if r != '\n' && r != '\t' && !unicode.IsGraphic(r) {
					t.Fatalf("%q", line)
				}
			}
		}
		if strings.Contains(f.String(), "\n") {
			t.Errorf("%q is not one line", f.String())
		}
		var b bytes.Buffer
		if err := WriteJSON(&b, f); err != nil {
			t.Fatal(err)
		}
		for _, r := range strings.TrimSuffix(b.String(), "\n") {
			if !unicode.IsGraphic(r) {
				t.Fatalf("%q", b.String())
			}
		}
		back, err := ReadJSON(&b)
		if err != nil || len(back) != 1 {
			t.Fatal(err)
		}
		plain, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		var original Finding
		if err := json.Unmarshal(plain, &original); err != nil || !reflect.DeepEqual(original, back[0]) {
			t.Errorf("kind %q: another finding in JSON, %v", kind, err)
		}
	}
}
