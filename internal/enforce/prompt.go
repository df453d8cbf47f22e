package enforce

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// silent are packages of the standard library that call functions which they get, but no methods of values.
var silent = []string{"bytes", "cmp", "maps", "math", "math/bits", "runtime", "slices", "strconv", "strings", "sync", "sync/atomic", "unicode", "unsafe"}

// prompt are packages of the standard library whose functions wait for nothing.
var prompt = []string{
	"bytes", "cmp", "container/heap", "container/list", "container/ring", "errors", "hash", "hash/adler32", "hash/crc32",
	"hash/crc64", "hash/fnv", "hash/maphash", "html", "iter", "maps", "math", "math/big", "math/bits", "math/cmplx",
	"math/rand", "math/rand/v2", "net/netip", "net/url", "path", "path/filepath", "regexp", "regexp/syntax", "runtime",
	"slices", "sort", "strconv", "strings", "sync/atomic", "unicode", "unicode/utf16", "unicode/utf8", "unique", "unsafe",
	"reflect", "encoding/ascii85", "encoding/base32", "encoding/base64", "encoding/binary", "encoding/hex", "encoding/pem",
	"crypto/md5", "crypto/sha1", "crypto/sha256", "crypto/sha512", "crypto/subtle",
}

// writers are functions of the standard library that wait only for the writer which is their first argument. A method of
// what they return, if that is a type of the same package, waits for nothing else either.
var writers = []string{
	"bufio.NewWriter", "bufio.NewWriterSize", "encoding/csv.NewWriter", "encoding/gob.NewEncoder", "encoding/hex.NewEncoder",
	"encoding/json.NewEncoder", "encoding/xml.NewEncoder", "encoding/binary.Write", "io.WriteString",
	"fmt.Fprint", "fmt.Fprintf", "fmt.Fprintln",
}

// calculating are functions of the standard library that wait for nothing, of packages with others that may.
var calculating = []string{
	"encoding/json.Marshal", "encoding/json.MarshalIndent", "encoding/json.Valid", "encoding/json.Compact",
	"encoding/json.Indent", "encoding/json.HTMLEscape", "encoding/xml.Marshal", "encoding/xml.MarshalIndent",
	"encoding/json.Unmarshal", "encoding/xml.EscapeString", "encoding/xml.Unmarshal",
	"(*os.File).Name", "(*os.File).Fd", "os.Getenv", "os.LookupEnv", "os.Getpid", "os.Getppid", "os.IsExist", "os.IsNotExist", "os.IsPermission",
	"os.Getuid", "os.Getgid", "os.Exit", "io.LimitReader", "io.MultiReader", "io.MultiWriter", "io.NopCloser", "io.TeeReader",
	"io.NewSectionReader", "bufio.NewReader", "bufio.NewReaderSize", "bufio.NewScanner",
	"net/http.NewRequest", "net/http.NewRequestWithContext", "net/http.StatusText", "net/http.CanonicalHeaderKey",
	"(net/http.Header).Add", "(net/http.Header).Clone", "(net/http.Header).Del", "(net/http.Header).Get",
	"(net/http.Header).Set", "(net/http.Header).Values", "(*net/http.Request).Context", "(*net/http.Request).WithContext",
	"(*net/http.Request).Cookie", "(*net/http.Request).PathValue", "(*net/http.Request).SetPathValue",
	"(*net/http.Request).UserAgent", "(*net/http.Request).Referer", "(*net/http.Request).BasicAuth",
}

// onDisk are functions that wait for the disk at most. Those that open a file by name for reading or for writing only are
// not among them, and neither are plain reads and writes: the file may be a pipe.
var onDisk = []string{
	"os.Chdir", "os.Chmod", "os.Chown", "os.Chtimes", "os.Create", "os.CreateTemp", "os.Getwd", "os.Lchown", "os.Link",
	"os.Lstat", "os.Mkdir", "os.MkdirAll", "os.MkdirTemp", "os.ReadDir", "os.Readlink", "os.Remove", "os.RemoveAll",
	"os.Rename", "os.Stat", "os.Symlink", "os.TempDir", "(*os.File).Chdir", "(*os.File).Chmod", "(*os.File).Chown",
	"(*os.File).Close", "(*os.File).ReadAt", "(*os.File).ReadDir", "(*os.File).Readdir", "(*os.File).Readdirnames",
	"(*os.File).Seek", "(*os.File).Stat", "(*os.File).Sync", "(*os.File).Truncate", "(*os.File).WriteAt",
}

// mayWait reports whether a call of another module's function may wait for another goroutine, or for input or output.
// Standard output and the standard logger are taken for prompt, unless the module puts something else in their place:
// who reads them is another process. So is what is written to memory, and what waits for the disk only. A sleep ends by itself, except among goroutines
// that testing/synctest watches.
func (p *Program) mayWait(info *types.Info, fn *types.Func, expr *ast.CallExpr) bool {
	if fn.Pkg() == nil {
		return false // the method of an error
	}
	if p.toMemory(info, fn, expr) || slices.Contains(calculating, fn.FullName()) || slices.Contains(onDisk, fn.FullName()) {
		return false
	}
	if fn.Pkg().Path() != "fmt" && p.readsOrWrites(info, fn, expr) {
		return true
	}
	switch path := fn.Pkg().Path(); path {
	case "fmt":
		if strings.HasPrefix(fn.Name(), "Print") || strings.HasPrefix(fn.Name(), "Fprint") && p.standard(expr) {
			return p.redirects
		}
		return !strings.HasPrefix(fn.Name(), "Sprint") && !strings.HasPrefix(fn.Name(), "Sscan") && fn.Name() != "Errorf" && !strings.HasPrefix(fn.Name(), "Append")
	case "log":
		return fn.Signature().Recv() != nil || !slices.ContainsFunc([]string{"Print", "Fatal", "Panic"}, func(s string) bool { return strings.HasPrefix(fn.Name(), s) }) || p.redirects
	case "time":
		return fn.Name() == "Sleep" && p.bubbles
	case "context":
		return false
	case "sync":
		switch fn.FullName() {
		case "(*sync.WaitGroup).Wait", "(*sync.Cond).Wait", "(*sync.Once).Do":
			return true
		}
		return strings.HasPrefix(fn.Name(), "Once") || strings.HasPrefix(fn.FullName(), "(sync.Locker)")
	case "testing":
		switch fn.Name() {
		case "Run", "RunParallel", "Parallel":
			return true
		}
		return false
	default:
		return !slices.Contains(prompt, path)
	}
}

// toMemory reports whether a call waits for nothing because it writes to memory: a function of writers whose first
// argument is such a writer, or a method of what such a call returns.
func (p *Program) toMemory(info *types.Info, fn *types.Func, expr *ast.CallExpr) bool {
	if slices.Contains(writers, fn.FullName()) {
		return len(expr.Args) > 0 && p.isMemory(info, expr.Args[0])
	}
	sel, ok := ast.Unparen(expr.Fun).(*ast.SelectorExpr)
	if !ok || fn.Signature().Recv() == nil || types.IsInterface(fn.Signature().Recv().Type()) {
		return false
	}
	_, named := p.writerCall(info, sel.X)
	return named && p.isMemory(info, sel.X)
}

// readsOrWrites reports whether a call passes on a reader or writer that is not in memory.
func (p *Program) readsOrWrites(info *types.Info, fn *types.Func, expr *ast.CallExpr) bool {
	params := fn.Signature().Params()
	for i := range min(params.Len(), len(expr.Args)) {
		n, ok := types.Unalias(params.At(i).Type()).(*types.Named)
		if ok && types.IsInterface(n) && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == "io" && !p.isMemory(info, expr.Args[i]) {
			return true
		}
	}
	return false
}

// isMemory reports whether an expression is a writer to memory or a reader from it: a *bytes.Buffer, a *bytes.Reader, a
// *strings.Builder, a *strings.Reader, or what a function of writers makes of such a writer. A local variable is one if it is defined so and not assigned anew.
func (p *Program) isMemory(info *types.Info, e ast.Expr) bool {
	if ptr, ok := underlying(info.TypeOf(e)).(*types.Pointer); ok {
		if n, ok := types.Unalias(ptr.Elem()).(*types.Named); ok && n.Obj().Pkg() != nil {
			switch n.Obj().Pkg().Path() + "." + n.Obj().Name() {
			case "bytes.Buffer", "bytes.Reader", "strings.Builder", "strings.Reader":
				return true
			}
		}
	}
	call, ok := p.writerCall(info, e)
	return ok && len(call.Args) > 0 && p.isMemory(info, call.Args[0])
}

// writerCall returns the call of a function of writers that an expression is, or that defines the local variable which
// the expression names.
func (p *Program) writerCall(info *types.Info, e ast.Expr) (*ast.CallExpr, bool) {
	e = ast.Unparen(e)
	if id, ok := e.(*ast.Ident); ok {
		v, ok := info.Uses[id].(*types.Var)
		if !ok {
			return nil, false
		}
		if e = p.definitions[v]; e == nil {
			return nil, false
		}
	}
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return nil, false
	}
	fn := calledFunc(info, call)
	return call, fn != nil && slices.Contains(writers, fn.FullName())
}

// findDefinitions finds the local variables that a definition gives a value which they keep, and those that change.
func (p *Program) findDefinitions() {
	p.definitions, p.changed = map[*types.Var]ast.Expr{}, map[*types.Var]bool{}
	changed := p.changed
	for _, f := range p.files {
		info := f.pkg.TypesInfo
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for i, left := range n.Lhs {
					id, ok := left.(*ast.Ident)
					if !ok {
						continue
					}
					if v, ok := info.Defs[id].(*types.Var); ok && len(n.Lhs) == len(n.Rhs) {
						p.definitions[v] = n.Rhs[i]
					} else if v, ok := info.Uses[id].(*types.Var); ok {
						changed[v] = true
					}
				}
			case *ast.UnaryExpr: // its address is taken
				if id, ok := ast.Unparen(n.X).(*ast.Ident); ok {
					if v, ok := info.Uses[id].(*types.Var); ok {
						changed[v] = true
					}
				}
			case *ast.RangeStmt:
				for _, e := range []ast.Expr{n.Key, n.Value} {
					if id, ok := e.(*ast.Ident); ok {
						if v, ok := info.Uses[id].(*types.Var); ok {
							changed[v] = true
						}
					}
				}
			}
			return true
		})
	}
	for v := range changed {
		delete(p.definitions, v)
	}
}

// standard reports whether the first argument of a call is standard output or standard error.
func (p *Program) standard(expr *ast.CallExpr) bool {
	if len(expr.Args) == 0 {
		return false
	}
	sel, ok := ast.Unparen(expr.Args[0]).(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Stdout" && sel.Sel.Name != "Stderr" {
		return false
	}
	id, ok := sel.X.(*ast.Ident)
	return ok && id.Name == "os"
}
