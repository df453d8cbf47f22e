package source

import (
	"bytes"
	"errors"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/dgraph-io/ristretto/v2"

	"github.com/heisen-go/heisen"
)

// Bounds on what is read to explain one line. File names come from traces, which may be damaged.
const (
	maxFileSize     = 8 << 20
	maxPackageFiles = 1000
)

// DefaultMemory is a bound for NewCache that holds packages with 4 MB of source.
const DefaultMemory = 128 << 20

// Cache reads Go files and parses and type-checks their packages. It keeps packages and excerpts
// within a bound on memory. What was evicted is computed again. A file that is missing, is no Go
// file or does not parse gives an Excerpt with fewer fields, never an error.
//
// Several goroutines may use a Cache. The nil Cache knows no file. Close stops the goroutine that
// the first lookup starts.
type Cache struct {
	mu     sync.Mutex
	store  store                    // nil until the first lookup
	memory int64                    // bytes
	only   func(file string) bool   // the files that are read; nil for all
	stands func(file string) string // the file that is read for one; nil if that is itself

	// The package of the latest lookup. The store may drop or delay what is put into it; with
	// this, the accesses of one finding never parse their package twice.
	last *pkg
}

// store is a cache that may drop entries at any time.
type store interface {
	Get(key string) (entry, bool)
	Set(key string, e entry, cost int64) bool
	Wait() // for the latest Set to take effect
	Close()
}

// An entry is that of a package, a file or an excerpt. The entry of a file has the name of the
// file's package, or the package itself if the file is the only one in it. The zero entry means
// that the file cannot be read.
type entry struct {
	name    string
	pkg     *pkg
	excerpt *Excerpt
}

// has reports whether e has a package with the file.
func (e entry) has(file string) bool { return e.pkg != nil && e.pkg.has(file) }

// The key of a file is its name. File names come from traces, so a key may be damaged.

func packageKey(dir, name string) string { return dir + "\x00" + name }

func excerptKey(f heisen.Frame, r role, size uint64) string {
	key := make([]byte, 0, 128)
	key = append(key, f.File...)
	key = append(key, 0, byte(r), byte(r>>8))
	key = strconv.AppendInt(key, int64(f.Line), 10)
	key = append(key, 0)
	key = strconv.AppendUint(key, size, 10)
	key = append(key, 0)
	return string(append(key, f.Func...))
}

// NewCache returns an empty cache that keeps about the given number of bytes, at least 1.
// The latest package is kept even if it alone exceeds the bound.
func NewCache(memory int64) *Cache { return &Cache{memory: max(memory, 1)} }

// NewCacheOf is NewCache for files for which a function returns true: no others are opened. Another function names the file that is read
// for one. Either may be nil. One goroutine at a time calls them.
func NewCacheOf(memory int64, only func(file string) bool, stands func(file string) string) *Cache {
	c := NewCache(memory)
	c.only, c.stands = only, stands
	return c
}

// Close gives up what is cached. Lookups after it work, uncached.
func (c *Cache) Close() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.store != nil {
		c.store.Close()
	}
	c.store, c.last = noStore{}, nil
}

// noStore keeps nothing.
type noStore struct{}

func (noStore) Get(string) (entry, bool)      { return entry{}, false }
func (noStore) Set(string, entry, int64) bool { return false }
func (noStore) Wait()                         {}
func (noStore) Close()                        {}

// newStore returns a ristretto cache for so many bytes.
func newStore(memory int64) store {
	r, err := ristretto.NewCache(&ristretto.Config[string, entry]{
		NumCounters: 1 << 14, // keys whose use is counted: files, packages and excerpts
		MaxCost:     memory,
		BufferItems: 64,
	})
	if err != nil { // only for a configuration that is wrong
		return noStore{}
	}
	return r
}

// Excerpt is what the source says about one access.
type Excerpt struct {
	Line      string // the source line, without the space around it
	Statement string // the innermost statement on the line that may make the access, on one line

	candidates []candidate // expressions that the access may be to, the likeliest first
	file       string      // of the line; empty if nothing is known of it
	number     int
}

// SameLine reports whether two excerpts are of the same line.
func (e *Excerpt) SameLine(other *Excerpt) bool {
	return e.file != "" && e.file == other.file && e.number == other.number
}

// Variable returns the expression that is accessed, or the empty string if none or more than one
// fits.
func (e *Excerpt) Variable() string { return only(e.candidates).Variable }

// cost estimates the memory of the excerpt, in bytes.
func (e *Excerpt) cost() int64 {
	n := 128 + len(e.Line) + len(e.Statement)
	for i := range e.candidates {
		c := &e.candidates[i]
		n += 128 + len(c.text) + len(c.typ)
		for _, key := range slices.Concat(c.keys, c.identity) {
			n += 16 + len(key)
		}
	}
	return int64(n)
}

// At returns what the source says about an operation in a frame on at least so many bytes. The
// frame's function name distinguishes a function from the literals in it.
func (c *Cache) At(frame heisen.Frame, op heisen.Op, size uint64) *Excerpt {
	return c.at(frame, roleOf(op), size)
}

// Waiting returns what the source says about an operation in a frame in which a goroutine waits.
func (c *Cache) Waiting(frame heisen.Frame, op heisen.Op) *Excerpt {
	return c.at(frame, waitingRole(op), 0)
}

// Stopping returns what the source says of what would stop a goroutine that timers wake again and again where it waits in a frame.
func (c *Cache) Stopping(frame heisen.Frame) *Excerpt {
	return c.at(frame, messages|stopping, 0)
}

// Within returns what the source says about an operation that is made within a call of a package that implements
// synchronization: it is one on the object of the call. The frame is that of the call.
func (c *Cache) Within(frame heisen.Frame) *Excerpt {
	return c.at(frame, locks|messages|atomics, 0)
}

func (c *Cache) at(frame heisen.Frame, r role, size uint64) *Excerpt {
	if c == nil || frame.Line <= 0 {
		return &Excerpt{}
	}
	frame.File = filepath.ToSlash(frame.File) // as all files are named here
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.store == nil { // so that a program without findings pays nothing
		c.store = newStore(c.memory)
	}
	key := excerptKey(frame, r, size)
	if e, ok := c.store.Get(key); ok && e.excerpt != nil {
		return e.excerpt
	}
	p := c.packageOf(frame)
	if p == nil {
		return &Excerpt{}
	}
	excerpt := p.at(frame, r, size)
	c.store.Set(key, entry{excerpt: excerpt}, excerpt.cost()+int64(len(key)))
	return excerpt
}

// at computes the Excerpt for a frame in one of the package's files.
func (p *pkg) at(frame heisen.Frame, r role, size uint64) *Excerpt {
	excerpt := &Excerpt{file: frame.File, number: frame.Line}
	f, lines := p.linesOf(frame.File, frame.Line)
	if f == nil {
		return excerpt
	}
	excerpt.Line = string(bytes.TrimSpace(f.lines[lines[0]-1]))
	if f.syntax == nil {
		return excerpt
	}
	find := &finder{pkg: p, file: f, fset: p.fset, lines: lines, importPath: p.importPathOf(frame.Func), innermost: map[int]string{}}
	find.search()
	excerpt.candidates = find.fitting(r, size, frame.Func)
	excerpt.Statement = find.statementIn(frame.Func)
	if len(excerpt.candidates) > 0 {
		excerpt.Statement = only(excerpt.candidates).Statement
		if excerpt.Statement == "" { // several statements fit
			excerpt.Statement = shorten(excerpt.Line)
		}
	}
	return excerpt
}

// packageOf returns the package that has the file of a frame, or code that was made from it, or nil. The files of a package
// are those of its directory with the same package clause that build for this machine.
func (c *Cache) packageOf(frame heisen.Frame) *pkg {
	file := frame.File
	if c.last != nil && c.last.has(file) {
		return c.last
	}
	e, ok := c.store.Get(file)
	if ok && e == (entry{}) {
		return nil
	}
	if ok && e.pkg == nil {
		e, ok = c.store.Get(packageKey(filepath.Dir(file), e.name))
	}
	if ok && e.has(file) {
		c.last = e.pkg
	} else {
		c.last = c.load(frame)
	}
	return c.last
}

// load returns the package with the code of a frame, which it reads.
func (c *Cache) load(frame heisen.Frame) (p *pkg) {
	text, err := c.read(frame.File)
	if err == nil {
		p = c.loadText(frame.File, text)
	}
	if err == nil && p.files[frame.File].syntax != nil {
		return p
	}
	if made := c.madeFrom(frame); made != nil {
		return made
	}
	if err != nil {
		c.store.Set(frame.File, entry{}, int64(len(frame.File)))
	}
	return p
}

// loadText parses a file and, unless it is stored, reads the rest of its package. It stores both.
func (c *Cache) loadText(file string, text []byte) *pkg {
	dir, name := filepath.Dir(file), packageClause(text)
	if e, ok := c.store.Get(packageKey(dir, name)); ok && e.has(file) {
		c.store.Set(file, entry{name: name}, int64(len(file)))
		return e.pkg
	}
	key, e := file, entry{pkg: newPackage()}
	e.pkg.language, e.pkg.folder = c.languageOf(dir), c.pathOf(dir)
	if e.pkg.parse(file, text).syntax != nil {
		if e.pkg.addSiblings(c, dir, name, file) {
			c.store.Set(file, entry{name: name}, int64(len(file)))
			key, e.name = packageKey(dir, name), name
		}
		e.pkg.check()
	}
	c.store.Set(key, e, e.pkg.cost())
	c.store.Wait()
	return e.pkg
}

var errNoSource = errors.New("no Go source file")

// read reads a file that may be read.
func (c *Cache) read(name string) ([]byte, error) {
	if c.only != nil && !c.only(name) {
		return nil, errNoSource
	}
	if c.stands != nil {
		name = c.stands(name)
	}
	return readSource(name)
}

func readSource(name string) ([]byte, error) {
	if !strings.HasSuffix(name, ".go") {
		return nil, errNoSource
	}
	info, err := os.Stat(name) // opening a pipe would wait
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFileSize {
		return nil, errNoSource
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFileSize))
}

// pkg is a package with the type information that its own files give. Imports stay unresolved:
// an expression with an imported type has no type. A pkg does not change after check, but for names.
type pkg struct {
	fset     *token.FileSet
	files    map[string]*file
	lined    map[string]map[int][]place // by files and lines after which line directives name them
	size     int64                      // of the files, in bytes
	info     types.Info
	types    *types.Package
	language string                  // the version of its module, as in languageOf
	folder   string                  // its import path, as the module of its folder tells it; empty if that is not known
	captured map[types.Object]bool   // local variables that other goroutines can reach
	names    map[types.Object]string // of its declarations; nil until one is wanted
}

// file is a file of a package.
type file struct {
	lines  [][]byte
	syntax *ast.File    // nil if the file does not parse
	named  map[int]bool // the lines that are named as what they are; nil if all are
}

func newPackage() *pkg {
	return &pkg{fset: token.NewFileSet(), files: map[string]*file{}}
}

// parse adds a file's text to the package.
func (p *pkg) parse(name string, text []byte) *file {
	f := &file{lines: bytes.Split(text, []byte("\n"))}
	if tree, err := parser.ParseFile(p.fset, name, text, parser.ParseComments); err == nil {
		f.syntax = tree
		p.follow(name, f, text)
	}
	p.files[name] = f
	p.size += int64(len(text))
	return f
}

// addSiblings adds the other files of the package to one that was parsed. It adds nothing and
// reports false if that one is not in the build of the package.
func (p *pkg) addSiblings(c *Cache, dir, name, parsed string) bool {
	if ok, err := build.Default.MatchFile(filepath.Split(parsed)); err != nil || !ok {
		return false
	}
	files := goFiles(dir)
	if len(files) == 0 || len(files) > maxPackageFiles {
		return false
	}
	for _, file := range files {
		if file == filepath.ToSlash(filepath.Clean(parsed)) {
			continue
		}
		if ok, err := build.Default.MatchFile(filepath.Split(file)); err != nil || !ok {
			continue
		}
		text, err := c.read(file)
		if err != nil || packageClause(text) != name {
			continue
		}
		if f := p.parse(file, text); f.syntax == nil {
			delete(p.files, file)
		}
	}
	return true
}

// packageClause returns the name in a file's package clause, or the empty string.
func packageClause(text []byte) string {
	f, err := parser.ParseFile(token.NewFileSet(), "", text, parser.PackageClauseOnly)
	if err != nil {
		return ""
	}
	return f.Name.Name
}

// goFiles returns the names of the Go files in a folder, with slashes, in their order.
func goFiles(dir string) (files []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".go") {
			files = append(files, filepath.ToSlash(filepath.Join(dir, e.Name())))
		}
	}
	return files
}

// parsed returns the files that parse, in the order of their names.
func (p *pkg) parsed() (files []*ast.File) {
	for _, name := range slices.Sorted(maps.Keys(p.files)) {
		if f := p.files[name]; f.syntax != nil {
			files = append(files, f.syntax)
		}
	}
	return files
}

// check type-checks the files of the package, as far as that is possible without its imports.
func (p *pkg) check() {
	files := p.parsed()
	p.info = types.Info{
		Types:      map[ast.Expr]types.TypeAndValue{},
		Defs:       map[*ast.Ident]types.Object{},
		Uses:       map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
	}
	config := types.Config{
		Importer:    noImporter{},
		Error:       func(error) {}, // keep what can be known
		FakeImportC: true,
	}
	p.types, _ = config.Check("p", p.fset, files, &p.info)
	p.captured = reachable(&p.info, files, p.language)
}

// bytesPerByte is how many bytes of memory the syntax and types of one byte of source take:
// 18 to 36 in packages of the standard library, see TestCost.
const bytesPerByte = 30

// cost estimates the memory of the package, in bytes.
func (p *pkg) cost() int64 { return 4096 + bytesPerByte*p.size }

type noImporter struct{}

func (noImporter) Import(string) (*types.Package, error) {
	return nil, errNoSource
}
