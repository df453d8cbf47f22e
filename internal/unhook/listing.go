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

// Listing says which functions have hooks that are all needless. They are among those that the plan says are typed.
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
	NeedlessAt              // all are needless, and nothing that the function calls reports anything but operations on locks
)

// Of returns what is known of a function that is declared in a file of the plan, on the line of the word func.
func (l *Listing) Of(file string, line int, name string) Hooks {
	return l.found[declared{file, line, name}]
}

// ReadListing reads what the go command prints for builds with ListingFlags. Relative names of files in it are relative to a
// folder. A function that the plan does not call typed needs its hooks. One that is compiled several times, as for tests, must
// not need them in any of the versions.
//
// It takes memory in proportion to the number of functions.
func ReadListing(r io.Reader, folder string, source Source, plan *focus.Plan) (*Listing, error) {
	l := &Listing{found: map[declared]Hooks{}}
	p := &listingReader{source: source, needless: source.Needless(plan), typed: plan.Functions, folder: folder, found: l.found, copied: map[declared]bool{}}
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
	typed    map[focus.Function]focus.Properties
	folder   string
	pkg      string // that is read; empty if it is not known
	found    map[declared]Hooks
	copied   map[declared]bool // without names: functions that are expanded in place

	// Of this version of a package.
	texts []*listedText

	at *listedText // the function that is read; nil: none
}

// listedText is a function in a listing.
type listedText struct {
	at      declared
	symbol  string
	hooks   int
	needed  bool // one of them
	calls   bool // something that may report
	defers  int  // calls that it defers
	returns bool // it calls the deferred ones at its end

	frame  bool // the instruction in front puts an address in the frame into the first argument
	frames []listedHook
	jumps  jumps
}

// listedHook is a hook at an offset that has an address in the frame, unless a jump goes to it.
type listedHook struct {
	offset int
	needed bool
}

// place returns the file and the line in an instruction's second column.
func (p *listingReader) place(column string) (file string, line int, ok bool) {
	_, place, ok := strings.Cut(column, "(")
	colon := strings.LastIndexByte(place, ':')
	if !ok || colon < 0 || !strings.HasSuffix(place, ")") {
		return "", 0, false
	}
	line, err := strconv.Atoi(place[colon+1 : len(place)-1])
	return place[:colon], line, err == nil
}

// offset returns the offset of an instruction in its function, from its second column.
func (p *listingReader) offset(column string) (int, bool) {
	_, rest, _ := strings.Cut(column, " ")
	number, _, _ := strings.Cut(rest, " ")
	n, err := strconv.Atoi(number)
	return n, err == nil
}

// listedCopy is a function that can be expanded in place.
var listedCopy = regexp.MustCompile(`^(.+\.go):(\d+):\d+: can inline `)

func (p *listingReader) line(text string) {
	switch {
	case strings.HasPrefix(text, "# "): // another package, or version of one
		p.end()
		p.pkg, _, _ = strings.Cut(text[2:], " ") // what follows says of which test it is a version
	case strings.HasPrefix(text, "\t0x"):
		if columns := strings.SplitN(text, "\t", 4); len(columns) == 4 { // the first is empty
			p.instruction(columns[1], columns[2], columns[3])
		}
	default:
		if m := listedCopy.FindStringSubmatch(text); m != nil {
			line, _ := strconv.Atoi(m[2])
			p.copied[declared{file: p.locate(m[1]), line: line}] = true
		}
	}
}

// instruction reads an instruction: its place, its name and its arguments.
func (p *listingReader) instruction(column, name, arguments string) {
	switch name {
	case "TEXT":
		p.at = nil
		file, line, ok := p.place(column)
		symbol, _, function := strings.Cut(arguments, "(SB)")
		if !ok || !function || strings.HasPrefix(symbol, "(") {
			return
		}
		p.at = &listedText{at: declared{p.locate(file), line, symbol[strings.LastIndexByte(symbol, '.')+1:]}, symbol: symbol}
		p.texts = append(p.texts, p.at)
		return
	case "PCDATA", "FUNCDATA": // no instructions
		return
	}
	f := p.at
	if f == nil {
		return
	}
	operand := arguments[strings.LastIndexByte(arguments, ' ')+1:]
	to, err := strconv.Atoi(operand)
	switch {
	case name == "CALL" || name == "JMP" || name == "B":
		if target, static := strings.CutSuffix(arguments, "(SB)"); static {
			p.call(f, column, target)
		} else if err == nil { // a jump within the function
			f.jumps.add(to)
		} else {
			f.calls = true
			f.jumps.anywhere = f.jumps.anywhere || name != "CALL"
		}
	case err == nil: // a conditional jump, or harmless
		f.jumps.add(to)
	}
	f.frame = name == "LEAQ" && strings.HasSuffix(arguments, "(SP), AX") ||
		name == "MOVD" && strings.HasPrefix(arguments, "$") && (strings.HasSuffix(arguments, "(SP), R0") || strings.HasSuffix(arguments, "(RSP), R0"))
}

func (p *listingReader) call(f *listedText, column, target string) {
	switch kind := callOf(target); kind {
	case reads, writes:
		file, line, ok := p.place(column)
		needed := !ok || !p.needless(file, line, kind == writes)
		if offset, ok := p.offset(column); f.frame && ok {
			f.frames = append(f.frames, listedHook{offset, needed})
			break
		}
		f.hooks++
		f.needed = f.needed || needed
	case other:
		switch {
		case strings.HasPrefix(target, "runtime.deferproc"):
			f.defers++
		case target == "runtime.deferreturn":
			f.returns = true
		case !locks[target]:
			f.calls = true
		}
	}
}

// locks are the functions that report nothing but that a lock is acquired or released.
var locks = map[string]bool{
	"sync.(*Mutex).Lock": true, "sync.(*Mutex).Unlock": true, "sync.(*Mutex).TryLock": true,
	"sync.(*RWMutex).Lock": true, "sync.(*RWMutex).Unlock": true, "sync.(*RWMutex).TryLock": true,
	"sync.(*RWMutex).RLock": true, "sync.(*RWMutex).RUnlock": true, "sync.(*RWMutex).TryRLock": true,
}

// end notes the functions of a package.
func (p *listingReader) end() {
	deferred := map[string][]*listedText{} // by the symbol of the function that defers
	for _, f := range p.texts {
		for _, h := range f.frames {
			if f.jumps.anywhere || f.jumps.to[h.offset] {
				f.hooks++
				f.needed = f.needed || h.needed
			}
		}
		if dot := strings.LastIndexByte(f.symbol, '.'); strings.HasPrefix(f.at.name, "deferwrap") && dot > 0 {
			deferred[f.symbol[:dot]] = append(deferred[f.symbol[:dot]], f)
		}
	}
	seen := map[declared]bool{}
	for _, f := range p.texts {
		hooks := NeedlessAt
		switch {
		case f.hooks == 0 || f.needed || !p.typed[p.function(f)].Typed:
			hooks = Needed
		case f.calls || (f.defers > 0 || f.returns) && !onlyLocks(f, deferred[f.symbol]):
			hooks = NeedlessIn
		}
		if seen[f.at] { // which of them it is cannot be told
			hooks = Needed
		}
		seen[f.at] = true
		if old, ok := p.found[f.at]; !ok || hooks < old {
			p.found[f.at] = hooks
		}
	}
	p.at, p.texts = nil, nil
}

// function returns the name of a function in plans.
func (p *listingReader) function(f *listedText) focus.Function {
	return focus.FunctionOf(f.symbol, p.pkg)
}

// onlyLocks reports whether all that a function defers is in the given wrappers, and these report nothing but
// operations on locks.
func onlyLocks(f *listedText, wrappers []*listedText) bool {
	for _, w := range wrappers {
		if w.hooks > 0 || w.calls || w.defers > 0 {
			return false
		}
	}
	return f.defers == len(wrappers)
}
