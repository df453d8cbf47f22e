package library

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
)

// handle answers with the method, the path and the length of the body.
func handle(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	fmt.Fprintf(w, "%s %s %d\n", r.Method, r.URL.Path, len(body))
}

// benchHTTP runs parallel clients against a server that listens on l.
func benchHTTP(b *testing.B, l net.Listener, dial func(ctx context.Context, network, addr string) (net.Conn, error)) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /items/{id}", handle)
	server := &http.Server{Handler: mux}
	var served sync.WaitGroup
	served.Go(func() { server.Serve(l) })
	defer served.Wait()
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{DialContext: dial, MaxIdleConnsPerHost: 16}}
	defer client.CloseIdleConnections()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for n := 0; pb.Next(); n++ {
			answer, err := client.Get(fmt.Sprintf("http://server/items/%d", n))
			if err != nil {
				b.Error(err)
				return
			}
			io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
		}
	})
}

func BenchmarkHTTPLoopback(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	benchHTTP(b, l, func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, l.Addr().String())
	})
}

func BenchmarkHTTPMemory(b *testing.B) {
	l := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	benchHTTP(b, l, l.dial)
}

// pipeListener accepts connections in memory.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case l.conns <- there:
		return here, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "unix"} }
