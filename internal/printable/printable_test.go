package printable

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	for text, want := range map[string]string{ // as Lines returns it
		"":                              "",
		"a.b[i]\t<-ch \\ \"é 世 🙂\u00a0": "a.b[i]\t<-ch \\ \"é 世 🙂\u00a0",
		"\x1b[2J\x1b]0;title\x07":       `\u001b[2J\u001b]0;title\u0007`,
		"a\r\nb\r\r\n":                  "a\r\nb\\u000d\r\n", // ends of lines
		"hidden\rshown\r":               `hidden\u000dshown\u000d`,
		"\u009b31m \x9b31m":             `\u009b31m \x9b31m`,
		"if x \u202e{ evil \u2066":      `if x \u202e{ evil \u2066`,
		"\u2028\ufeff\u200b\x7f\x00":    `\u2028\ufeff\u200b\u007f\u0000`,
		"\U000e0041 \xf0\x9f":           `\udb40\udc41 \xf0\x9f`,
		"\ufffd":                        "\ufffd",
	} {
		if got := Lines(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
		if got, want := Text(text), strings.NewReplacer("\n", " ", "\r", " ", "\t", " ", `\u000d`, " ").Replace(want); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
		var b bytes.Buffer
		if n, err := NewWriter(&b).Write([]byte(text)); n != len(text) || err != nil || b.String() != Lines(text) {
			t.Errorf("%q: %d, %v, %q", text, n, err, b.String())
		}
	}
}

// FuzzText: the result is valid, graphic and stable, and in JSON means the same.
func FuzzText(f *testing.F) {
	f.Add("\x1b[31m\xff\u202e\n", "name")
	f.Fuzz(func(t *testing.T, text, other string) {
		got := Text(text)
		if !utf8.ValidString(got) || Text(got) != got {
			t.Fatalf("%q becomes %q", text, got)
		}
		for _, r := range got {
			if !unicode.IsGraphic(r) {
				t.Fatalf("%q becomes %q", text, got)
			}
		}
		in, err := json.Marshal(map[string]string{text: other})
		if err != nil {
			t.Fatal(err)
		}
		var a, b map[string]string
		if err := json.Unmarshal(in, &a); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(Lines(string(in))), &b); err != nil {
			t.Fatalf("%s: %v", Lines(string(in)), err)
		}
		for k, v := range a {
			if b[k] != v || len(b) != 1 {
				t.Fatalf("%s means something else than %s", Lines(string(in)), in)
			}
		}
	})
}
