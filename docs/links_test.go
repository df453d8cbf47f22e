package docs_test

import (
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// TestLinks checks every link of every document. A relative link leads to a file or folder of the
// module, and its fragment to a heading or anchor of that document. An external link is an absolute
// URL; it is not fetched.
func TestLinks(t *testing.T) {
	count := 0
	for _, document := range documents(t) {
		text := read(t, document)
		count += len(linksOf(text))
		for _, problem := range checkLinks(root, document, text) {
			t.Error(problem)
		}
	}
	if count < 100 {
		t.Errorf("only %d links were found", count)
	}
}

// checkLinks returns what is wrong with the links of a document, one sentence each. The path of the
// document is relative to the folder of the module.
func checkLinks(module, document, text string) []string {
	var problems []string
	for _, target := range linksOf(text) {
		if err := checkLink(module, document, target); err != nil {
			problems = append(problems, fmt.Sprintf("%s: link to %s: %v", document, target, err))
		}
	}
	return problems
}

func checkLink(module, document, target string) error {
	u, err := url.Parse(target)
	switch {
	case err != nil:
		return err
	case target == "":
		return fmt.Errorf("no target")
	case u.Scheme == "http" || u.Scheme == "https":
		if !hostName.MatchString(u.Hostname()) {
			return fmt.Errorf("%q is not the name of a host", u.Host)
		}
		return nil
	case u.Scheme == "mailto":
		if !strings.Contains(u.Opaque, "@") {
			return fmt.Errorf("%q is not an address", u.Opaque)
		}
		return nil
	case u.Scheme != "" || u.Host != "":
		return fmt.Errorf("neither relative nor http, https or mailto")
	}
	file := document
	if u.Path != "" {
		file = path.Join(path.Dir(document), u.Path)
	}
	if file == ".." || strings.HasPrefix(file, "../") || path.IsAbs(u.Path) {
		return fmt.Errorf("leads out of the module")
	}
	info, err := os.Stat(filepath.Join(module, filepath.FromSlash(file)))
	if err != nil {
		return fmt.Errorf("there is no %s", file)
	}
	if u.Fragment == "" {
		if strings.HasSuffix(target, "#") {
			return fmt.Errorf("empty fragment")
		}
		return nil
	}
	if info.IsDir() || path.Ext(file) != ".md" {
		return fmt.Errorf("%s has no headings", file)
	}
	content, err := os.ReadFile(filepath.Join(module, filepath.FromSlash(file)))
	if err != nil {
		return err
	}
	if !slices.Contains(anchorsOf(string(content)), u.Fragment) {
		return fmt.Errorf("%s has no heading with the anchor %s", file, u.Fragment)
	}
	return nil
}

var (
	hostName = regexp.MustCompile(`^[\w-]+(\.[\w-]+)+$`)

	anyFence  = regexp.MustCompile("(?ms)^ *```.*?^ *```[ \t]*$")
	codeSpan  = regexp.MustCompile("(?s)``.+?``|`[^`]+`")
	comment   = regexp.MustCompile(`(?s)<!--.*?-->`)
	inline    = regexp.MustCompile(`\]\(\s*<?((?:[^()\s<>]|\([^()\s]*\))*)>?(?:\s+(?:"[^"]*"|'[^']*'))?\s*\)`)
	reference = regexp.MustCompile(`(?m)^ {0,3}\[[^\]]+\]:\s*<?(\S+?)>?(?:\s+"[^"]*")?\s*$`)
	automatic = regexp.MustCompile(`<((?:https?|mailto):[^\s<>]*)>`)
	attribute = regexp.MustCompile(`<(?:a|img|source)\b[^>]*?\s(?:href|src|srcset)="([^"]*)"`)
)

// linksOf returns the targets of all links and images of a Markdown document: inline ones,
// definitions of references, addresses in angle brackets, and those of HTML elements.
func linksOf(text string) []string {
	text = anyFence.ReplaceAllString(text, "")
	text = codeSpan.ReplaceAllString(text, "")
	text = comment.ReplaceAllString(text, "")
	var all []string
	for _, form := range []*regexp.Regexp{inline, reference, automatic, attribute} {
		for _, m := range form.FindAllStringSubmatch(text, -1) {
			all = append(all, m[1])
		}
	}
	return all
}

var (
	heading   = regexp.MustCompile(`(?m)^ {0,3}#{1,6}[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$`)
	underline = regexp.MustCompile(`(?m)^(\S.*)\n(?:=+|--+)[ \t]*$`)
	label     = regexp.MustCompile(`!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])`)
	emphasis  = regexp.MustCompile(`\*+|\b_+|_+\b`)
	named     = regexp.MustCompile(`<[a-z][\w]*\b[^>]*?\s(?:id|name)="([^"]+)"`)
)

// anchorsOf returns the anchors that GitHub gives a Markdown document: those of its headings, with
// -1, -2 and so on after the name from the second heading with the same text on, and the id and name
// attributes of HTML elements.
func anchorsOf(text string) []string {
	text = comment.ReplaceAllString(anyFence.ReplaceAllString(text, ""), "")
	var headings [][]int // start of the heading, then start and end of its text
	for _, form := range []*regexp.Regexp{heading, underline} {
		for _, at := range form.FindAllStringSubmatchIndex(text, -1) {
			headings = append(headings, []int{at[0], at[2], at[3]})
		}
	}
	slices.SortFunc(headings, func(a, b []int) int { return a[0] - b[0] })
	var all []string
	for _, h := range headings {
		slug := slugOf(text[h[1]:h[2]])
		unique := slug
		for n := 1; slices.Contains(all, unique); n++ {
			unique = fmt.Sprint(slug, "-", n)
		}
		all = append(all, unique)
	}
	for _, m := range named.FindAllStringSubmatch(text, -1) {
		all = append(all, m[1])
	}
	return all
}

// slugOf returns the anchor that GitHub makes of the text of a heading: in lower case, without
// markup, with hyphens for blanks, and without all other characters than letters, marks, digits,
// hyphens and underscores.
func slugOf(heading string) string {
	var plain strings.Builder
	at := 0
	for _, span := range codeSpan.FindAllStringIndex(heading, -1) {
		plain.WriteString(withoutMarkup(heading[at:span[0]]))
		plain.WriteString(strings.Trim(heading[span[0]:span[1]], "`"))
		at = span[1]
	}
	plain.WriteString(withoutMarkup(heading[at:]))
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.Pc):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(plain.String()))
}

// withoutMarkup returns text without the marks of emphasis and with the text of links only. It
// contains no code.
func withoutMarkup(text string) string {
	return emphasis.ReplaceAllString(label.ReplaceAllString(text, "$1"), "")
}

// TestAnchors compares anchors with those that GitHub gives such headings.
func TestAnchors(t *testing.T) {
	document := strings.Join([]string{
		"# Test and run", "text", "## What's new?", "## Go 1.26.8, `-race` & more", "## What's new?",
		"## `snake_case` and *emphasis*", "## A [link](x.md) inside", "## Trailing marks ##",
		"```", "# not a heading", "```", "Underlined", "==========", "## Übersicht – a dash",
		"## _a_ b_c", "## -detect a/b: c.d", "## what-s-new", `<a id="by-hand"></a>`,
		"#no heading", "<!--", "# hidden", "-->", "## What's new?",
	}, "\n")
	want := []string{
		"test-and-run", "whats-new", "go-1268--race--more", "whats-new-1",
		"snake_case-and-emphasis", "a-link-inside", "trailing-marks",
		"underlined", "übersicht--a-dash",
		"a-b_c", "-detect-ab-cd", "what-s-new", "whats-new-2", "by-hand",
	}
	if got := anchorsOf(document); !slices.Equal(got, want) {
		t.Errorf("anchors\n%q, want\n%q", got, want)
	}
}

// TestBrokenLinks checks that TestLinks would find each kind of broken link, and nothing else.
func TestBrokenLinks(t *testing.T) {
	module := t.TempDir()
	for file, text := range map[string]string{
		"README.md":      "# Top\n",
		"docs/guide.md":  "# Guide\n## First step\n",
		"docs/picture.x": "",
	} {
		file = filepath.Join(module, file)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, good := range []string{
		"[a](guide.md)", "[a](guide.md#first-step)", "[a](#guide)", "![a](picture.x)", "[a](../README.md#top)",
		"[a](../docs)", "[a][r]\n\n[r]: guide.md#guide", "<https://go.dev/ref/mem>", "[a](https://go.dev/a_(b)#c)",
		"[a](guide.md \"title\")", "`[a](missing.md)`", "```\n[a](missing.md)\n```", "<!-- [a](missing.md) -->",
		`<img src="picture.x">`, "[a](mailto:a@example.com)",
	} {
		if problems := checkLinks(module, "docs/guide.md", "# Guide\n"+good); problems != nil {
			t.Errorf("%s: %v", good, problems)
		}
	}
	for _, bad := range []string{
		"[a](missing.md)", "[a](guide.md#second-step)", "[a](#missing)", "![a](missing.png)", "[a](../../README.md)",
		"[a](../README.md#guide)", "[a][r]\n\n[r]: missing.md", "<https://>", "[a](https:/go.dev)", "[a](htps://go.dev)",
		"[a](https://go dev)\n[b](https://%zz)", "[a]()", "[b](guide.md#)", `<img alt="x" src="missing.png">`,
		"[a](/docs/guide.md)", "[a](picture.x#top)", "[a](mailto:nobody)", "[a](../docs#guide)",
	} {
		if problems := checkLinks(module, "docs/guide.md", "# Guide\n"+bad); len(problems) != 1 {
			t.Errorf("%s: %d problems, want 1: %v", bad, len(problems), problems)
		}
	}
}
