package library

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/test/bufconn"
)

// backendKey is the key of a backend's name in a context.
type backendKey struct{}

// BenchmarkRequests starts a goroutine for each request. A request asks three backends, each in a
// goroutine of its own, under a deadline, and takes the first two answers.
func BenchmarkRequests(b *testing.B) {
	var mu sync.Mutex
	served := map[string]int{}
	backend := func(ctx context.Context, answers chan<- string) {
		name := ctx.Value(backendKey{}).(string)
		timer := time.NewTimer(time.Hour)
		defer timer.Stop()
		mu.Lock()
		served[name]++
		mu.Unlock()
		select {
		case answers <- name:
		case <-ctx.Done():
		case <-timer.C:
		}
	}
	request := func() error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		answers := make(chan string)
		for _, name := range []string{"a", "b", "c"} {
			go backend(context.WithValue(ctx, backendKey{}, name), answers)
		}
		for range 2 {
			select {
			case <-answers:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	}
	var errs error
	var pending sync.WaitGroup
	free := make(chan struct{}, 64) // requests at a time
	for range b.N {
		free <- struct{}{}
		pending.Go(func() {
			defer func() { <-free }()
			if err := request(); err != nil {
				mu.Lock()
				errs = errors.Join(errs, err)
				mu.Unlock()
			}
		})
	}
	pending.Wait()
	if errs != nil {
		b.Fatal(errs)
	}
}

// BenchmarkGRPC makes calls in memory, of the health service, which comes with its generated code.
func BenchmarkGRPC(b *testing.B) {
	l := bufconn.Listen(1 << 16)
	server := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	var served sync.WaitGroup
	served.Go(func() { server.Serve(l) })
	defer served.Wait()
	defer server.Stop()
	conn, err := grpc.NewClient("passthrough:///memory", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	client := grpc_health_v1.NewHealthClient(conn)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := client.Check(context.Background(), new(grpc_health_v1.HealthCheckRequest)); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
