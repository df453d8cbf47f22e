package patch

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/heisen-go/heisen/internal/reformat"
	"github.com/heisen-go/heisen/internal/static"
)

// texts has the contents of files.
type texts struct {
	fset    *token.FileSet
	changed map[string][]byte
	read    map[string][]byte
}

// content returns a file, with lines that end in a newline only.
func (t *texts) content(name string) ([]byte, error) {
	if text, ok := t.changed[name]; ok {
		return text, nil
	}
	text, ok := t.read[name]
	if !ok {
		var err error
		if text, err = os.ReadFile(name); err != nil {
			return nil, err
		}
		t.read[name] = text
	}
	return text, nil
}

// of returns the source of a node.
func (t *texts) of(n ast.Node) string {
	first, last := t.fset.PositionFor(n.Pos(), false), t.fset.PositionFor(n.End(), false)
	text, err := t.content(first.Filename)
	if err != nil || last.Offset > len(text) {
		return ""
	}
	return string(text[first.Offset:last.Offset])
}

// edit replaces a part of a file.
type edit struct {
	first, last int // offsets
	text        string
	order       int // of several insertions at one place
}

// edits collects the edits of files.
type edits struct {
	texts *texts
	files map[string][]edit
	fail  error
}

func (e *edits) replace(first, last token.Pos, text string) {
	a, b := e.texts.fset.PositionFor(first, false), e.texts.fset.PositionFor(last, false)
	e.files[a.Filename] = append(e.files[a.Filename], edit{a.Offset, b.Offset, text, len(e.files[a.Filename])})
}

// line returns the content of a file, the offset of pos, and the offsets of the start and the end of its line.
func (e *edits) line(pos token.Pos) (text []byte, offset, start, end int) {
	at := e.texts.fset.PositionFor(pos, false)
	text, err := e.texts.content(at.Filename)
	if err != nil {
		e.fail = err
		return nil, 0, 0, 0
	}
	start = bytes.LastIndexByte(text[:at.Offset], '\n') + 1
	end = len(text)
	if i := bytes.IndexByte(text[at.Offset:], '\n'); i >= 0 {
		end = at.Offset + i
	}
	return text, at.Offset, start, end
}

// before inserts lines before a statement, with its indentation.
func (e *edits) before(pos token.Pos, lines ...string) {
	text, offset, start, _ := e.line(pos)
	indent := leading(text[start:])
	joined := strings.Join(lines, "\n"+indent) + "\n" + indent
	if strings.TrimSpace(string(text[start:offset])) != "" {
		joined = "\n" + indent + joined
	}
	e.replace(pos, pos, joined)
}

// after inserts lines after a statement and the comment on its line.
func (e *edits) after(start, pos token.Pos, lines ...string) {
	text, offset, lineStart, end := e.line(pos)
	if text == nil {
		return
	}
	_, _, first, _ := e.line(start)
	indent := leading(text[first:])
	rest := strings.TrimSpace(string(text[offset:end]))
	at := pos
	if rest == "" || strings.HasPrefix(rest, "//") {
		at = pos + token.Pos(end-offset)
		if end > lineStart && text[end-1] == '\r' {
			at--
		}
	}
	e.replace(at, at, "\n"+indent+strings.Join(lines, "\n"+indent))
}

// remove removes a statement, with its line if that has nothing else.
func (e *edits) remove(n ast.Node) {
	text, offset, start, end := e.line(n.Pos())
	if text == nil {
		return
	}
	length := int(n.End() - n.Pos())
	first, last := n.Pos(), n.End()
	if strings.TrimSpace(string(text[start:offset])) == "" && offset+length <= end && strings.TrimSpace(string(text[offset+length:end])) == "" {
		first -= token.Pos(offset - start)
		last = n.Pos() + token.Pos(end-offset)
		if end < len(text) {
			last++
		}
	}
	e.replace(first, last, "")
}

func leading(line []byte) string {
	n := len(line) - len(bytes.TrimLeft(line, " \t"))
	return string(line[:n])
}

// apply returns the changed files. Files that gofmt had formatted stay formatted; the line endings stay.
func (e *edits) apply() (map[string][]byte, error) {
	if e.fail != nil {
		return nil, e.fail
	}
	out := map[string][]byte{}
	for name, list := range e.files {
		text, err := e.texts.content(name)
		if err != nil {
			return nil, err
		}
		slices.SortStableFunc(list, func(a, b edit) int {
			return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(a.last, b.last), cmp.Compare(a.order, b.order))
		})
		var b bytes.Buffer
		at := 0
		for _, ed := range list {
			if ed.first < at {
				return nil, fmt.Errorf("%s: two changes in one place", name)
			}
			b.Write(text[at:ed.first])
			b.WriteString(ed.text)
			at = ed.last
		}
		b.Write(text[at:])
		out[name] = reformat.Like(text, b.Bytes())
	}
	return out, nil
}

// importStd makes a file import a package of the standard library, sync or sync/atomic, and returns the name by which it does.
func (e *edits) importStd(f *static.File, wanted string) (string, error) {
	name := path.Base(wanted)
	for _, spec := range f.Syntax.Imports {
		if imported, _ := strconv.Unquote(spec.Path.Value); imported == wanted {
			if spec.Name == nil {
				return name, nil
			}
			if spec.Name.Name != "_" && spec.Name.Name != "." {
				return spec.Name.Name, nil
			}
		}
	}
	if f.Package.Types.Scope().Lookup(name) != nil {
		return "", fmt.Errorf("%s: the package declares a name %s of its own", f.Path, name)
	}
	var std *ast.ImportSpec // the last one of the standard library before it
	var decl *ast.GenDecl
	for _, d := range f.Syntax.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.IMPORT {
			continue
		}
		if len(g.Specs) == 1 && g.Specs[0].(*ast.ImportSpec).Path.Value == `"C"` {
			continue
		}
		decl = g
		for _, spec := range g.Specs {
			spec := spec.(*ast.ImportSpec)
			if imported, _ := strconv.Unquote(spec.Path.Value); !strings.Contains(imported, ".") && imported < wanted && g.Lparen.IsValid() {
				std = spec
			}
		}
		break
	}
	switch {
	case std != nil:
		e.after(std.Pos(), std.End(), strconv.Quote(wanted))
	case decl == nil:
		e.after(f.Syntax.Package, f.Syntax.Name.End(), "", "import "+strconv.Quote(wanted))
	case decl.Lparen.IsValid():
		e.replace(decl.Lparen+1, decl.Lparen+1, "\n\t"+strconv.Quote(wanted))
	case decl.Doc != nil:
		e.after(decl.Pos(), decl.End(), "import "+strconv.Quote(wanted))
	default:
		spec := decl.Specs[0].(*ast.ImportSpec)
		first, second := "", "\n\t"+strconv.Quote(wanted)
		if imported, _ := strconv.Unquote(spec.Path.Value); imported > wanted && !strings.Contains(imported, ".") {
			first, second = "\n\t"+strconv.Quote(wanted), ""
		}
		e.replace(spec.Pos(), spec.Pos(), "("+first+"\n\t")
		e.replace(spec.End(), spec.End(), second+"\n)")
	}
	return name, nil
}
