package filename

import (
	"runtime"
	"testing"
)

func TestIsAbs(t *testing.T) {
	for name, want := range map[string]bool{
		"/m/a.go": true, `C:\m\a.go`: true, "c:/m/a.go": true, "/": true, "Z:/": true,
		"": false, "m/a.go": false, "C:": false, "C:a.go": false, "example.com/m:/a.go": false, "../a.go": false,
	} {
		if got := IsAbs(name); got != want {
			t.Errorf("%q: %t", name, got)
		}
	}
}

func TestDrive(t *testing.T) {
	for name, want := range map[string]bool{"a:/": true, "z:/": true, "A:/": true, "Z:/": true, "@:/": false, "`:/": false, "[:/": false, "{:/": false, "1:/": false, "a:": false, "a:b": false, "": false} {
		if got := hasDrive(name); got != want {
			t.Errorf("%q: %t", name, got)
		}
	}
}

func TestRel(t *testing.T) {
	for _, test := range [][3]string{{"/m", "/m/p/a.go", "p/a.go"}, {"/m", "/m", "."}, {"/m/", "/m/a.go:13", "a.go:13"}, {"/m", "/n/a.go", ""}, {"/m", "/mm/a.go", ""}, {"/m", "m/a.go", ""}} {
		if got, ok := Rel(test[0], test[1]); got != test[2] || ok != (got != "") {
			t.Errorf("%q in %q: %q, %t", test[1], test[0], got, ok)
		}
	}
	if runtime.GOOS != "windows" {
		return
	}
	if got, ok := Rel(`C:\m`, "c:/m/p/a.go:13"); got != `p\a.go:13` || !ok {
		t.Errorf("%q, %t", got, ok)
	}
}

func TestBase(t *testing.T) {
	for name, want := range map[string]string{"/m/a.go": "a.go", `C:\m\a.go`: "a.go", "C:/m/a.go:3": "a.go:3", "a.go": "a.go", "": "", "m/": ""} {
		if got := Base(name); got != want {
			t.Errorf("%q: %q", name, got)
		}
	}
}

func TestBelow(t *testing.T) {
	tests := []struct {
		folder, file string
		want         bool
	}{
		{"/go/src", "/go/src/fmt/print.go", true},
		{"/go/src", "/go/src/..a.go", true},
		{"/go/src/", "/go/src/fmt/print.go", true},
		{"/", "/a.go", true},
		{"/go/src", "/go/src", false},
		{"/go/src", "/go/srcs/a.go", false},
		{"/go/src", "/go/a.go", false},
		{"/go/src", "/go", false},
		{"/go/src", "fmt/print.go", false},
		{"/go/src", "", false},
	}
	if runtime.GOOS == "windows" {
		for _, test := range tests[:len(tests):len(tests)] {
			test.folder = "C:" + test.folder
			if test.file != "" && test.file[0] == '/' {
				test.file = "c:" + test.file
			}
			tests = append(tests, test)
		}
		tests = append(tests, []struct {
			folder, file string
			want         bool
		}{
			{`C:\Program Files\Go\src`, "C:/Program Files/Go/src/fmt/print.go", true},
			{`c:\program files\go\src`, "C:/Program Files/Go/src/fmt/print.go", true},
			{`C:\Go\src`, "D:/Go/src/fmt/print.go", false},
		}...)
	}
	for _, test := range tests {
		if got := Below(test.folder, test.file); got != test.want {
			t.Errorf("%q, %q: %t", test.folder, test.file, got)
		}
	}
}

// TestURI: a name comes back from its address, and the address is what the standard for them (RFC 8089) shows.
func TestURI(t *testing.T) {
	for name, want := range map[string]string{
		"/m/a.go":             "file:///m/a.go",
		"/my prog/%a.go":      "file:///my%20prog/%25a.go",
		"C:/my prog/a.go":     "file:///C:/my%20prog/a.go",
		"//server/share/a.go": "file://server/share/a.go",
	} {
		if got := URI(name); got != want {
			t.Errorf("%q: %s", name, got)
		}
		if got := OfURI(want); got != name {
			t.Errorf("%s: %q", want, got)
		}
	}
	if got := URI(`C:\my prog\a.go`); got != "file:///C:/my%20prog/a.go" {
		t.Errorf("backslashes: %s", got)
	}
	for address, want := range map[string]string{
		"a/b.go": "a/b.go", "./C:/a.go": "./C:/a.go", "file://localhost/m/a.go": "/m/a.go", "https://example.com/a.go": "", "%": "",
	} {
		if got := OfURI(address); got != want {
			t.Errorf("%s: %q", address, got)
		}
	}
}
