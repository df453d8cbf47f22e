package recorder

import (
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/heisen-go/heisen/internal/core/wire"
)

// TestAgain: a socket that is used again returns the programs that connected before the end to the earlier use. Later ones
// cannot connect by its path.
func TestAgain(t *testing.T) {
	l := listen(t)
	if l.Again() {
		t.Error("used again before the end")
	}
	for range 3 {
		env := l.Env()
		connect(t, l)
		if err := l.Stop(); err != nil {
			t.Fatal(err)
		}
		p, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close(0)
		if l.Again() {
			t.Error("used again before the end")
		}
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("after the end: %v", err)
		}
		if !l.Again() {
			t.Skip("this entrance is not used again")
		}
		if l.Env() == env || len(l.Env()) != len(env) {
			t.Errorf("%s after %s", l.Env(), env)
		}
		if conn, err := net.Dial("unix", strings.TrimPrefix(env, wire.SocketEnv+"=")); err == nil {
			t.Error("a program of the earlier use connects")
			conn.Close()
		}
	}
}
