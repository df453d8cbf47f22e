// Command web is an HTTP server that counts its requests without a lock.
package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
)

var requests int

func count(w http.ResponseWriter, _ *http.Request) {
	requests++
	fmt.Fprintln(w, "thank you")
}

// ask sends two requests at the same time.
func ask(url string) error {
	var asking sync.WaitGroup
	failed := make(chan error, 2)
	for range 2 {
		asking.Go(func() {
			response, err := http.Get(url)
			if err == nil {
				err = response.Body.Close()
			}
			failed <- err
		})
	}
	asking.Wait()
	if err := <-failed; err != nil {
		return err
	}
	return <-failed
}

func main() {
	server := httptest.NewServer(http.HandlerFunc(count))
	defer server.Close()
	if err := ask(server.URL); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
