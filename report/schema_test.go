package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemaFile documents the JSON form of findings for other programs.
var schemaFile = filepath.Join("..", "docs", "finding.schema.json")

const schemaID = "https://github.com/heisen-go/heisen/blob/main/docs/finding.schema.json"

// schemaOf makes the schema from the types in finding.go and their comments.
func schemaOf(t *testing.T) map[string]any {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "finding.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	definitions := map[string]any{}
	for _, d := range file.Decls {
		decl, ok := d.(*ast.GenDecl)
		if !ok || decl.Tok != token.TYPE {
			continue
		}
		for _, spec := range decl.Specs {
			s := spec.(*ast.TypeSpec)
			definitions[s.Name.Name] = object(t, s.Type.(*ast.StructType), decl.Doc.Text())
		}
	}
	root := definitions["Finding"].(map[string]any)
	delete(definitions, "Finding")
	root["properties"].(map[string]any)["version"] = map[string]any{
		"const": jsonVersion, "description": "version of this form; it changes only if a field changes its meaning or is removed",
	}
	root["required"] = append(root["required"].([]string), "version")
	root["$schema"], root["$id"], root["$defs"] = "https://json-schema.org/draft/2020-12/schema", schemaID, definitions
	root["title"] = fmt.Sprintf("A finding of heisen, version %d", jsonVersion)
	return root
}

// object returns the schema of a struct. Fields that may be left out are those with omitempty.
func object(t *testing.T, s *ast.StructType, doc string) map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, f := range s.Fields.List {
		tag := reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("json")
		name, options, _ := strings.Cut(tag, ",")
		if name == "-" {
			continue
		}
		p := property(t, f.Type)
		if p["type"] == "array" && options == "" && name != "accesses" { // of a finding that was made without a Resolver
			p["type"] = []string{"array", "null"}
		}
		if text := oneLine(f.Doc.Text() + " " + f.Comment.Text()); text != "" {
			p["description"] = text
		}
		properties[name] = p
		if options == "" {
			required = append(required, name)
		}
	}
	return map[string]any{"type": "object", "description": oneLine(doc), "properties": properties, "required": required}
}

func property(t *testing.T, e ast.Expr) map[string]any {
	switch e := e.(type) {
	case *ast.Ident:
		switch e.Name {
		case "string":
			return map[string]any{"type": "string"}
		case "bool":
			return map[string]any{"type": "boolean"}
		case "int":
			return map[string]any{"type": "integer"}
		case "uint64":
			return map[string]any{"type": "integer", "minimum": 0}
		}
		return map[string]any{"$ref": "#/$defs/" + e.Name}
	case *ast.SelectorExpr:
		switch e.Sel.Name {
		case "Thread":
			return map[string]any{"type": "integer", "minimum": 0}
		case "Duration":
			return map[string]any{"type": "integer"}
		}
		return map[string]any{"type": "string"} // heisen.Kind
	case *ast.StarExpr:
		return property(t, e.X)
	case *ast.ArrayType:
		return map[string]any{"type": "array", "items": property(t, e.Elt)}
	}
	t.Fatalf("no schema of %T", e)
	return nil
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// TestSchema checks that the schema in the documents is that of the types, and that what WriteJSON
// writes is valid. The schema must not accept a finding without one of its fields.
func TestSchema(t *testing.T) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(schemaOf(t)); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(schemaFile, text.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	documented, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(documented), text.String()); diff != "" {
		t.Errorf("%s is not that of the types (-want +got; -update rewrites it):\n%s", schemaFile, diff)
	}
	doc, err := jsonschema.UnmarshalJSON(&text)
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(schemaID, doc); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile(schemaID)
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range allFindings() {
		var line bytes.Buffer
		if err := WriteJSON(&line, &f); err != nil {
			t.Fatal(err)
		}
		finding, err := jsonschema.UnmarshalJSON(&line)
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(finding); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		fields := finding.(map[string]any)
		for _, field := range []string{"kind", "fingerprint", "accesses", "version"} {
			kept := fields[field]
			delete(fields, field)
			if schema.Validate(finding) == nil {
				t.Errorf("%s is valid without %s", name, field)
			}
			fields[field] = kept
		}
	}
}

// TestNewerVersion checks that lines of a later version, with more fields, can be read.
func TestNewerVersion(t *testing.T) {
	found, err := ReadJSON(strings.NewReader(`{"kind":"race","fingerprint":"01","accesses":[{"op":"read","color":"red"}],"version":2,"weight":3}`))
	if err != nil || len(found) != 1 || found[0].Accesses[0].Op != "read" {
		t.Errorf("got %v, %v", found, err)
	}
}
