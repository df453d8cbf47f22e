package infer_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heisen-go/heisen/internal/infer"
)

// bank is a module of two packages, one of which accesses the fields of a type in the other.
var bank = map[string]string{
	"go.mod": "module example.com/bank\n\ngo 1.25\n",
	"account/account.go": `package account

type Account struct {
	Balance int
	log     []string
}

var Open int

func (a *Account) Pay(n int) {
	a.Balance += n
	a.log = append(a.log, "pay")
}
`,
	"main.go": `package main

import "example.com/bank/account"

func main() {
	to, from := &account.Account{}, &account.Account{}
	account.Open++
	to.Balance =
		from.Balance
	n := 0
	go func() { n++ }()
	n = 2
	to.Pay(n)
}
`,
}

func TestUses(t *testing.T) {
	dir := write(t, bank)
	for _, test := range []struct {
		line int
		expr string
		want string
	}{
		{8, "to.Balance", "account/account.go:11 read, account/account.go:11 write, main.go:8 write, main.go:9 read"},
		{9, "from.Balance", "account/account.go:11 read, account/account.go:11 write, main.go:8 write, main.go:9 read"},
		{7, "account.Open", "main.go:7 read, main.go:7 write"},
		{11, "n", "main.go:10 write, main.go:11 read, main.go:11 write, main.go:12 write, main.go:13 read"},
	} {
		got, err := infer.Uses(context.Background(), infer.Source{Dir: dir, Packages: []string{"./..."}},
			infer.Access{File: "main.go", Line: test.line, Expr: test.expr})
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, at := range got {
			at.File = relative(t, dir, at.File)
			list = append(list, at.String())
		}
		if diff := cmp.Diff(test.want, strings.Join(list, ", ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.expr, diff)
		}
	}
}

func TestUsesOfNothing(t *testing.T) {
	dir := write(t, bank)
	source := infer.Source{Dir: dir, Packages: []string{"./..."}}
	got, err := infer.Uses(context.Background(), source,
		infer.Access{File: filepath.Join(dir, "account/account.go"), Line: 12, Expr: "a.log"},
		infer.Access{File: "main.go", Line: 9, Expr: "to.Balance"},
		infer.Access{File: "none.go", Line: 9, Expr: "x"})
	if !errors.Is(err, infer.ErrNoVariable) || strings.Count(fmt.Sprint(err), "\n") != 1 {
		t.Errorf("error %v, want two of ErrNoVariable", err)
	}
	if len(got) != 2 {
		t.Errorf("%d uses of a.log, want 2", len(got))
	}
	source.Packages = []string{"./none"}
	if _, err := infer.Uses(context.Background(), source); !errors.Is(err, infer.ErrPackages) {
		t.Errorf("error %v, want ErrPackages", err)
	}
}
