package unhook

import (
	"bufio"
	"io"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/heisen-go/heisen/focus"
)

// ListingFlags make the compiler print what ReadListing reads.
const ListingFlags = "-S -m"

// Listing says which functions have hooks that are all needless.
type Listing struct {
	found map[declared]Hooks
}

// declared is a function, by the file and the line of its declaration and its name without package and receiver.
type declared struct {
	file string // as plans name it
	line int
	name string
}

// Hooks says what is known of the hooks in a function, calls that are expanded in place included.
type Hooks uint8

const (
	Needed     Hooks = iota // some may be needed, or there are none, or other functions get copies of the code
	NeedlessIn              // all are needless; the function calls others that may report something
	NeedlessAt              // all are needless, and nothing that the function calls reports anything
)

// Of returns what is known of a function that is declared in a file of the plan, on the line of the word func.
func (l *Listing) Of(file string, line int, name string) Hooks {
	return l.found[declared{file, line, name}]
}

// ReadListing reads what the go command prints for builds with ListingFlags. Relative names of files in it are relative to a
// folder. A function that is compiled several times, as for tests, must not need its hooks in any of the versions.
//
// It takes memory in proportion to the number of functions.
func ReadListing(r io.Reader, folder string, source Source, plan *focus.Plan) (*Listing, error) {
	l := &Listing{found: map[declared]Hooks{}}
	p := &listingReader{source: source, needless: source.Needless(plan), folder: folder, found: l.found, seen: map[declared]bool{}, copied: map[declared]bool{}}
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadString('\n')
		p.line(strings.TrimSuffix(line, "\n"))
		if err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
	}
	p.end()
	for of := range l.found {
		if p.copied[declared{file: of.file, line: of.line}] || p.copied[declared{file: lost(of.file), line: of.line}] {
			l.found[of] = Needed
		}
	}
	return l, nil
}

// lost stands for all files with a name, for a file in a folder that is not known.
func lost(file string) string { return "*/" + path.Base(filepath.ToSlash(file)) }

// locate returns the plan's path of a file, which may be relative to the folder. The result may be lost.
func (p *listingReader) locate(file string) string {
	named := filepath.ToSlash(file)
	if strings.HasPrefix(named, "./") || strings.HasPrefix(named, "../") {
		named = filepath.ToSlash(filepath.Join(p.folder, file))
	}
	if name, ok := p.source.locate(named); ok {
		return name
	}
	return lost(file)
}

type listingReader struct {
	source   Source
	needless Needless
	folder   string
	found    map[declared]Hooks
	seen     map[declared]bool // in this version of a package
	copied   map[declared]bool // without names: functions that are expanded in place

	at     declared // the function that is read; zero: none
	hooks  int
	needed bool // one of them
	calls  bool // something that may report
}

var (
	// listedText is where a function begins: the place of its declaration, and its symbol.
	listedText = regexp.MustCompile(`^\t0x[0-9a-f]+ \d+ \((.+):(\d+)\)\tTEXT\t([^\s(]\S*|\S*\(\*\S+)\(SB\)`)
	listedCall = regexp.MustCompile(`^\t0x[0-9a-f]+ \d+ \((.+):(\d+)\)\t(?:CALL|JMP|B)\t(.+)$`)
	listedCopy = regexp.MustCompile(`^(.+\.go):(\d+):\d+: can inline `)
)

func (p *listingReader) line(text string) {
	switch {
	case strings.HasPrefix(text, "# "): // another package, or version of one
		p.end()
		clear(p.seen)
	case strings.HasPrefix(text, "\t"):
		if m := listedText.FindStringSubmatch(text); m != nil {
			p.end()
			p.begin(m[1], m[2], m[3])
		} else if m := listedCall.FindStringSubmatch(text); m != nil && p.at != (declared{}) {
			p.call(m[1], m[2], m[3])
		}
	default:
		if m := listedCopy.FindStringSubmatch(text); m != nil {
			line, _ := strconv.Atoi(m[2])
			p.copied[declared{file: p.locate(m[1]), line: line}] = true
		}
	}
}

func (p *listingReader) begin(file, line, symbol string) {
	n, _ := strconv.Atoi(line)
	p.at = declared{p.locate(file), n, symbol[strings.LastIndexByte(symbol, '.')+1:]}
	p.hooks, p.needed, p.calls = 0, false, false
}

func (p *listingReader) call(file, line, target string) {
	name, static := strings.CutSuffix(target, "(SB)")
	if !static {
		if _, err := strconv.Atoi(target); err != nil { // a jump within the function has a number
			p.calls = true
		}
		return
	}
	switch kind := callOf(name); kind {
	case reads, writes:
		n, _ := strconv.Atoi(line)
		p.hooks++
		p.needed = p.needed || !p.needless(file, n, kind == writes)
	case other:
		p.calls = true
	}
}

// end notes the function that was read.
func (p *listingReader) end() {
	at := p.at
	if p.at = (declared{}); at == p.at {
		return
	}
	hooks := NeedlessAt
	switch {
	case p.hooks == 0 || p.needed:
		hooks = Needed
	case p.calls:
		hooks = NeedlessIn
	}
	if p.seen[at] { // which of them it is cannot be told
		hooks = Needed
	}
	p.seen[at] = true
	if old, ok := p.found[at]; !ok || hooks < old {
		p.found[at] = hooks
	}
}
