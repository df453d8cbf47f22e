package field_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/heisen-go/heisen/field"
)

// A server looks each hour, logs what it finds, and tells it at a page.
func Example() {
	watcher, err := field.New(field.WithInterval(time.Hour), field.WithLogger(slog.Default()))
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- watcher.Run(ctx) }()

	mux := http.NewServeMux() // for operators only
	mux.Handle("/debug/heisen", watcher)

	stop() // when the server shuts down
	fmt.Println(<-ended)
	// Output: context canceled
}
