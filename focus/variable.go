package focus

import (
	"errors"
	"fmt"
	"go/token"
	"strings"
)

// ErrName is wrapped by the errors about texts that are not names of variables.
var ErrName = errors.New("not the name of a variable")

// Variable names what the source declares: a field of a struct type, or a package-level variable.
// Many objects in memory may have the field; the Variable stands for all of them.
type Variable struct {
	// Package is the import path of the package.
	Package string
	// Type is the name of the struct type, without type arguments. It is empty for a package-level
	// variable. For a field of a package-level variable whose struct type has no name, it is the
	// name of that variable, which no type of the package can have too.
	Type string
	// Name is the name of the field or package-level variable. The field of a struct without a name
	// that is itself a field has both names with a dot between them, such as "stats.hits".
	Name string
}

// IsZero reports whether v names nothing.
func (v Variable) IsZero() bool { return v == Variable{} }

// String returns the name as ParseVariable takes it, such as "example.com/bank.Account.balance" or
// "example.com/bank.total". As in names of functions that package runtime returns, the dots in the
// last element of the import path are written as %2e: "gopkg.in/yaml%2ev3.Node.Kind".
func (v Variable) String() string {
	s := escapePath(v.Package) + "."
	if v.Type != "" {
		s += v.Type + "."
	}
	return s + v.Name
}

// ParseVariable returns the variable with the given name, which has the form of Variable.String. An
// error wraps ErrName.
func ParseVariable(name string) (Variable, error) {
	slash := strings.LastIndexByte(name, '/')
	path, rest, _ := strings.Cut(name[slash+1:], ".")
	var v Variable
	var ok bool
	if v.Package, ok = unescapePath(name[:slash+1] + path); !ok || path == "" || strings.HasPrefix(name, "/") {
		return Variable{}, fmt.Errorf("%w: %q does not begin with an import path", ErrName, name)
	}
	if v.Name = rest; strings.Contains(rest, ".") {
		v.Type, v.Name, _ = strings.Cut(rest, ".")
	}
	for _, part := range strings.Split(rest, ".") {
		if !token.IsIdentifier(part) {
			return Variable{}, fmt.Errorf("%w: %q in %q is not an identifier", ErrName, part, name)
		}
	}
	if v.String() != name {
		return Variable{}, fmt.Errorf("%w: want %q, got %q", ErrName, v, name)
	}
	return v, nil
}

// escapePath writes an import path as the linker does in names of symbols: dots after the last slash,
// and everywhere blanks, control characters, quotes, percent signs and what is not ASCII become a
// percent sign and two hexadecimal digits.
func escapePath(path string) string {
	slash := strings.LastIndexByte(path, '/')
	var b strings.Builder
	for i := range len(path) {
		if c := path[i]; c <= ' ' || c >= 0x7f || c == '%' || c == '"' || c == '.' && i > slash {
			fmt.Fprintf(&b, "%%%02x", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// unescapePath is the inverse of escapePath.
func unescapePath(text string) (string, bool) {
	const digits = "0123456789abcdef"
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '%' {
			if i+2 >= len(text) {
				return "", false
			}
			high, low := strings.IndexByte(digits, text[i+1]), strings.IndexByte(digits, text[i+2])
			if high < 0 || low < 0 {
				return "", false
			}
			c, i = byte(high<<4|low), i+2
		}
		b.WriteByte(c)
	}
	return b.String(), true
}

// Function names a function or method as runtime.Func.Name does, such as
// "example.com/bank.(*Account).Deposit" or "example.com/bank.Open.func1". For a generic function it
// has "[...]" in the place of type arguments.
type Function string

// FunctionOf names a function as plans do that a program calls by the given name, which is that of
// runtime.Func.Name. A program calls the functions of its main package main.f whatever the import path of that
// package is; main is that path.
func FunctionOf(name, main string) Function {
	if inMain, ok := strings.CutPrefix(name, "main."); ok {
		return Function(Variable{Package: main, Name: inMain}.String())
	}
	return Function(name)
}
