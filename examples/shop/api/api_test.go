package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"example.com/shop/store"
)

func post(t *testing.T, url, body string) (int, map[string]int) {
	t.Helper()
	res, err := http.Post(url+"/orders", "application/json", strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return 0, nil
	}
	defer res.Body.Close()
	var out map[string]int
	if res.StatusCode == 200 {
		if err := json.NewDecoder(res.Body).Decode(&out); err != nil {
			t.Error(err)
		}
	}
	return res.StatusCode, out
}

func TestOrders(t *testing.T) {
	db := store.New()
	for i := range 4 {
		db.AddCustomer(store.Customer{ID: i, Name: fmt.Sprint("c", i), Credit: 10000})
	}
	s := New(db, 2)
	srv := httptest.NewServer(s)
	defer srv.Close()
	defer s.Pool.Close()
	var wg sync.WaitGroup
	for i := range 6 { // 4 and 5 do not exist
		wg.Go(func() {
			code, out := post(t, srv.URL, fmt.Sprintf(`{"Customer":%d,"Amount":10,"Currency":"EUR"}`, i))
			if i < 4 && code != 200 {
				t.Errorf("code %d", code)
				return
			}
			if i%2 == 0 && code == 200 {
				req, _ := http.NewRequest("DELETE", fmt.Sprint(srv.URL, "/orders/", out["id"]), nil)
				res, err := http.DefaultClient.Do(req)
				if err != nil {
					t.Error(err)
					return
				}
				res.Body.Close()
			}
		})
	}
	wg.Wait()
	if n := s.Rates.Loads(); n != 1 {
		t.Errorf("%d loads, want 1", n)
	}
	if _, failures := s.Count.Snapshot(); failures != 2 {
		t.Errorf("%d failures, want 2", failures)
	}
}
