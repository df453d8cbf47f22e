package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
)

type item struct {
	Name string
	N    int
}

var (
	mu    sync.Mutex
	items = map[string]*item{}
	hits  int
)

func handle(w http.ResponseWriter, r *http.Request) {
	mu.Lock()
	defer mu.Unlock()
	hits++
	it := items[r.URL.Path]
	if it == nil {
		it = &item{Name: r.URL.Path}
		items[r.URL.Path] = it
	}
	it.N++
	json.NewEncoder(w).Encode(it)
}

func main() {
	s := httptest.NewServer(http.HandlerFunc(handle))
	defer s.Close()
	for i := range 10 {
		r, err := http.Get(s.URL + fmt.Sprint("/", i%3))
		if err != nil {
			panic(err)
		}
		var it item
		if err := json.NewDecoder(r.Body).Decode(&it); err != nil {
			panic(err)
		}
		fmt.Println(it)
	}
}
