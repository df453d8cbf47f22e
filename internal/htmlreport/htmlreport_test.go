package htmlreport

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen"
	"github.com/heisen-go/heisen/internal/repository"
	"github.com/heisen-go/heisen/report"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func pageOf(t *testing.T, found []report.Finding, root string) string {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, found, "heisen test", repository.At(root)); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// samples returns the findings of package report's golden files, in the order of their names.
func samples(t *testing.T) (all []report.Finding) {
	t.Helper()
	files, err := filepath.Glob("../../report/testdata/*.json.golden")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		found, err := report.ReadJSON(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	return all
}

// bankSource stands for the source of examples/bank.
const bankSource = `package main

func transfer(from, to *account, amount int) {
	from.mu.Lock()
	defer from.mu.Unlock()
	from.balance -= amount
	to.balance += amount
}

func main() {
	for range 2 {
		go transfer(a, b, 1)
	}
}
`

// bank is the main finding of examples/bank, in a program in a folder.
func bank(t *testing.T) (folder string, f report.Finding) {
	t.Helper()
	folder = t.TempDir()
	file := filepath.Join(folder, "main.go")
	if err := os.WriteFile(file, []byte(bankSource), 0o666); err != nil {
		t.Fatal(err)
	}
	at := func(function string, line int) []report.Frame {
		return []report.Frame{{Func: function, File: file, Line: line}}
	}
	parent := heisen.Thread(0)
	f = report.Finding{
		Detector: "fasttrack", Kind: heisen.Race, Fingerprint: "840990e62c67e973", Count: 3, Message: "read races with earlier write",
		Package: "example.com/bank", Variable: "to.balance", Replay: "heisen replay bank.schedule",
		Goroutines: []report.Goroutine{{Thread: 0, Name: "main goroutine"}},
	}
	for i, op := range []string{"write", "read"} {
		thread := heisen.Thread(8 - i)
		name := fmt.Sprint("goroutine ", thread)
		f.Accesses = append(f.Accesses, report.Access{
			Op: op, Thread: thread, Goroutine: name, Object: "0xc0b8", Variable: "to.balance", Source: "to.balance += amount",
			Site: file + ":7", Stack: at("main.transfer", 7),
			Locks: []report.Lock{{Lock: fmt.Sprint("0x", i), Mode: "write", Site: file + ":4", Variable: "from.mu"}},
		})
		f.Goroutines = append(f.Goroutines, report.Goroutine{Thread: thread, Name: name, Parent: &parent, Stack: at("main.main", 12)})
	}
	return folder, f
}

func TestGolden(t *testing.T) {
	folder, f := bank(t)
	text := pageOf(t, []report.Finding{f}, folder)
	body := text[strings.Index(text, "<body>"):strings.LastIndex(text, "<script>")]
	golden(t, "bank.html.golden", []byte(strings.NewReplacer(folder, "/repo", strings.ToLower(folder), "/repo").Replace(body)))
}

// TestSelfContained checks that the page refers to nothing outside of it.
func TestSelfContained(t *testing.T) {
	text := pageOf(t, samples(t), "testdata")
	for _, wrong := range []string{"http:", "https:", "<link rel=\"stylesheet", "src=", "@import", "url(h", "style=\"", "ZgotmplZ"} {
		if strings.Contains(text, wrong) {
			t.Errorf("the page contains %s", wrong)
		}
	}
	for _, ref := range regexp.MustCompile(`(?:href|xlink:href)="([^"]*)"`).FindAllStringSubmatch(text, -1) {
		if !strings.HasPrefix(ref[1], "#") && ref[1] != "data:," {
			t.Errorf("the page refers to %s", ref[1])
		}
	}
	if n := strings.Count(text, "<script"); n != 1 {
		t.Errorf("%d scripts", n)
	}
	if !strings.Contains(text, "Content-Security-Policy") || !strings.Contains(text, "default-src &#39;none&#39;") {
		t.Error("the page has no policy")
	}
}

const evil = "\"'><img src=x onerror=alert(1)></script></style></svg><script>alert(2)</script>{{.}}\x00\u202e`${alert(3)}`</textarea>"

// hostile returns findings of all kinds in which every text is an attack, with a source that is one.
func hostile(t *testing.T) (folder string, all []report.Finding) {
	t.Helper()
	folder = t.TempDir()
	file := filepath.Join(folder, "evil.go")
	if err := os.WriteFile(file, []byte(strings.Repeat(evil+"\n", 20)), 0o666); err != nil {
		t.Fatal(err)
	}
	frames := []report.Frame{{Func: evil, File: file, Line: 7}, {Func: evil, File: evil, Line: 1}}
	for _, f := range samples(t) {
		f.Detector, f.Message, f.Package, f.Variable, f.Replay, f.Fingerprint = evil, evil, evil, evil, evil, evil
		for i := range f.Accesses {
			a := &f.Accesses[i]
			a.Goroutine, a.Test, a.Object, a.Site, a.Source, a.Variable, a.Stack = evil, evil, evil, evil, evil, evil, frames
			for j := range a.Locks {
				a.Locks[j] = report.Lock{Lock: evil, Mode: evil, Site: evil, Variable: evil}
			}
		}
		for i := range f.Witness {
			s := &f.Witness[i]
			s.Name, s.Object, s.Variable, s.Site, s.Op = evil, evil, evil, evil, evil
		}
		for i := range f.Goroutines {
			g := &f.Goroutines[i]
			g.Name, g.Stack = evil, frames
		}
		for i := range f.Cycle {
			f.Cycle[i] = evil
		}
		all = append(all, f)
	}
	all = append(all, report.Finding{Kind: evil, Fingerprint: evil, Message: evil})
	return folder, all
}

func TestHostile(t *testing.T) {
	folder, all := hostile(t)
	text := pageOf(t, all, folder)
	for _, wrong := range []string{"<img", "alert(2)</script>", "\x00", "\u202e", "<textarea"} {
		if strings.Contains(text, wrong) {
			t.Errorf("the page contains %q", wrong)
		}
	}
	if n := strings.Count(text, "<script"); n != 1 {
		t.Errorf("%d scripts", n)
	}
}

// TestSources checks which files an excerpt may come from.
func TestSources(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) string {
		name = filepath.Join(folder, name)
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return name
	}
	source, secret := write("a.go", "one\ntwo\r\nthree"), write("secret", "one\ntwo\n")
	if err := os.Mkdir(filepath.Join(folder, "b.go"), 0o777); err != nil {
		t.Fatal(err)
	}
	s := sources{files: map[string][]string{}}
	if got := s.lines(source); !slices.Equal(got, []string{"one", "two", "three"}) {
		t.Errorf("lines %q", got)
	}
	for _, name := range []string{secret, filepath.Join(folder, "b.go"), filepath.Join(folder, "nosuch.go"), "htmlreport.go", ""} {
		if got := s.lines(name); got != nil {
			t.Errorf("%q is read: %q", name, got)
		}
	}
}

// TestStarts: the page shows where the repository starts goroutines, and not where a library does.
func TestStarts(t *testing.T) {
	repo, library := t.TempDir(), t.TempDir()
	write := func(folder, text string) string {
		file := filepath.Join(folder, "x.go")
		if err := os.WriteFile(file, []byte("package p\n\n"+text+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		return file
	}
	own := []report.Frame{{Func: "p.f", File: write(repo, "// IN_REPOSITORY"), Line: 3}}
	other := []report.Frame{{Func: "lib.f", File: write(library, "// IN_LIBRARY"), Line: 3}}
	parent := heisen.Thread(0)
	page := func(waits, starts []report.Frame) string {
		return pageOf(t, []report.Finding{{
			Kind: heisen.Leak, Fingerprint: "0123456789abcdef", Message: "a goroutine waits for ever: chan send",
			Accesses: []report.Access{{Op: "send", Thread: 1, Goroutine: "goroutine 1", Object: "0x8", Stack: waits, Site: fmt.Sprintf("%s:%d", waits[0].File, waits[0].Line)}},
			Goroutines: []report.Goroutine{
				{Thread: 1, Name: "goroutine 1", Parent: &parent, Stack: starts}, {Thread: 0, Name: "main goroutine"},
			},
		}}, repo)
	}
	for name, c := range map[string]struct {
		page               string
		ofOwn, ofLibraries bool
	}{
		"a library starts it":    {page(own, other), true, false},
		"a library waits":        {page(other, own), true, true},
		"nothing of the program": {page(other, other), false, true},
	} {
		if strings.Contains(c.page, "IN_REPOSITORY") != c.ofOwn || strings.Contains(c.page, "IN_LIBRARY") != c.ofLibraries {
			t.Errorf("%s: lines of the repository: %t, of the library: %t", name, !c.ofOwn, !c.ofLibraries)
		}
	}
}

// unreadable lists the texts of diagrams that overlap others of the same diagram, or are smaller than nine pixels.
const unreadable = `[...document.querySelectorAll(".diagram svg")].flatMap((svg) => {
	const texts = [...svg.querySelectorAll("text")].filter((t) => t.textContent.trim()).map((t) => ({t, r: t.getBoundingClientRect()}));
	const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
	const apart = (a, b) => a.right <= b.left + 1 || b.right <= a.left + 1 || a.bottom <= b.top + 3 || b.bottom <= a.top + 3;
	return texts.flatMap((a, i) => {
		const over = texts.slice(i + 1).filter((b) => !apart(a.r, b.r)).map((b) => a.t.textContent + " over " + b.t.textContent);
		const small = parseFloat(getComputedStyle(a.t).fontSize) * scale < 9 ? [a.t.textContent + " is small: " + scale] : [];
		return over.concat(small);
	});
}).join("\n")`

// TestPairs: the page lists the other pairs of accesses of a race.
func TestPairs(t *testing.T) {
	folder, f := bank(t)
	if strings.Contains(pageOf(t, []report.Finding{f}, folder), `class="pairs"`) {
		t.Error("a race with one pair of accesses has others")
	}
	other := f
	other.Identity, other.Pair, f.Identity, f.Pair = "example.com/bank.balance", "2", "example.com/bank.balance", "1"
	other.Accesses = slices.Clone(f.Accesses)
	other.Accesses[0].Site = "/src/other.go:7"
	other.Accesses[0].Stack = []report.Frame{{Func: "example.com/bank.other", File: "/src/other.go", Line: 7}}
	f.AddPairs(&other)
	page := pageOf(t, []report.Finding{f}, folder)
	if _, list, _ := strings.Cut(page, `class="pairs"`); !strings.Contains(list, "other.go:7") || strings.Count(page, `<details class="finding`) != 1 {
		t.Errorf("the other pair is not listed:\n%s", list)
	}
}

// TestBrowser shows pages in a browser: they load without errors, the diagram is there, and filter
// and keys work.
func TestBrowser(t *testing.T) {
	b := startBrowser(t)
	show := func(name, folder string, found []report.Finding) {
		t.Helper()
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(pageOf(t, found, folder)), 0o666); err != nil {
			t.Fatal(err)
		}
		b.open(file)
		b.fine()
	}
	count := func(selector string) string {
		return "document.querySelectorAll(" + fmt.Sprintf("%q", selector) + ").length"
	}

	folder, f := bank(t)
	for _, width := range []int{1280, 390} {
		b.size(width, 844)
		show("bank.html", folder, []report.Finding{f})
		b.want(count("svg .lane"), 3.0)
		b.want(count("svg .event.access"), 2.0)
		b.want(count("svg .edge.conflict"), 1.0)
		b.want(count("svg .edge.start"), 2.0)
		b.want(count("svg .bar"), 2.0)
		b.want(count(".line.access"), 1.0)
		b.want("document.documentElement.scrollWidth <= innerWidth", true)
		b.want("document.querySelector('svg').getBoundingClientRect().bottom <= innerHeight", true) // the first screen
		b.want("getComputedStyle(document.body).backgroundColor", "rgb(255, 255, 255)")
		b.picture(fmt.Sprint("bank-", width))
		b.theme("dark")
		b.want("getComputedStyle(document.body).backgroundColor", "rgb(20, 23, 27)")
		b.picture(fmt.Sprint("bank-dark-", width))
		b.value("document.getElementById('theme').click()")
		b.want("getComputedStyle(document.body).backgroundColor", "rgb(255, 255, 255)")
		b.theme("light")
	}

	all := samples(t)
	for _, width := range []int{390, 1280} {
		b.size(width, 844)
		show("all.html", "testdata", all)
		b.value("document.querySelectorAll('.finding').forEach(f => f.open = true)")
		b.want("document.documentElement.scrollWidth <= innerWidth", true)
		b.want("[...document.querySelectorAll('#overview, .sentence, summary, .about, .replay')].filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.outerHTML).join()", "")
		b.want("[...document.querySelectorAll('#overview tbody th button')].filter(e => e.getClientRects().length != 1 || e.offsetHeight > 60).map(e => e.outerHTML).join()", "")
		b.want("document.querySelectorAll('.diagram svg text').length > 100", true)
		b.want(unreadable, "")
		b.picture(fmt.Sprint("all-", width))
	}

	b.size(1280, 844)
	show("all.html", "testdata", all)
	n := float64(len(all))
	b.picture("all")
	shown := count(".finding:not([hidden])")
	b.want(shown, n)
	b.press("/")
	for _, key := range "worker v3" {
		b.press(string(key))
	}
	b.want(shown, 1.0)
	b.want("document.getElementById('shown').textContent", fmt.Sprintf("1 of %d", len(all)))
	b.want("location.hash", "#q=worker+v3")
	b.press("Escape")
	b.want(shown, n)
	b.value("document.querySelector('#overview thead [data-kind=\"Potential deadlock\"]').click()")
	b.want(shown, b.value(count(".finding[data-kind='Potential deadlock']")))
	b.want("document.querySelectorAll('.finding:not([hidden])').length > 1", true)
	b.press("j")
	b.press("j")
	b.want("document.activeElement.closest('.finding').open", false)
	b.press("Enter")
	b.want("document.activeElement.closest('.finding').open", true)
	b.want("document.activeElement.closest('.finding').dataset.kind", "Potential deadlock")
	b.picture("deadlock")
	b.press("k")
	b.want("[...document.querySelectorAll('.finding:not([hidden])')].findIndex(f => f.contains(document.activeElement))", 0.0)
	b.value("location.hash = 'q=nothing-has-this'")
	b.want("new Promise(done => setTimeout(() => done("+shown+"), 0))", 0.0)
	b.fine()

	folder, attacks := hostile(t)
	show("hostile.html", folder, attacks)
	b.value("document.querySelectorAll('.finding').forEach(f => f.open = true)")
	b.want(count("img, textarea, iframe, object, embed"), 0.0)
	b.want(count("script"), 1.0)
	b.want("document.body.textContent.includes('<img src=x onerror=alert(1)>')", true)
	b.picture("hostile")
	b.fine()

	show("none.html", folder, nil)
	b.want("document.querySelector('.first').textContent", "Nothing was found.")
	b.fine()
}

// golden compares a result with a golden file.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got; -update rewrites it):\n%s", file, diff)
	}
}
