// Package api is the HTTP service.
package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"example.com/shop/cache"
	"example.com/shop/metrics"
	"example.com/shop/pool"
	"example.com/shop/store"
)

// Server is the service.
type Server struct {
	DB    *store.DB
	Pool  *pool.Pool
	Rates *cache.Cache[string, int]
	Count metrics.Counter
	mux   *http.ServeMux
}

// New makes a service.
func New(db *store.DB, workers int) *Server {
	s := &Server{DB: db, Pool: pool.New(workers), mux: http.NewServeMux()}
	s.Rates = cache.New(func(currency string) (int, error) {
		n, ok := pool.First(func() int { return len(currency) * 100 }, 50*time.Millisecond)
		if !ok {
			return 0, context.DeadlineExceeded
		}
		return n, nil
	})
	s.mux.HandleFunc("POST /orders", s.place)
	s.mux.HandleFunc("DELETE /orders/{id}", s.cancel)
	s.mux.HandleFunc("GET /stats", s.stats)
	return s
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.Count.Request()
	s.mux.ServeHTTP(w, r)
}

func (s *Server) place(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Customer, Amount int
		Currency         string
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		s.fail(w, err, http.StatusBadRequest)
		return
	}
	rate, err := s.Rates.Get(in.Currency)
	if err != nil {
		s.fail(w, err, http.StatusBadGateway)
		return
	}
	id, err := s.Pool.Do(r.Context(), func(context.Context) (int, error) {
		return s.DB.Place(in.Customer, in.Amount*rate/100)
	})
	if err != nil {
		s.fail(w, err, http.StatusConflict)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]int{"id": id})
}

func (s *Server) cancel(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.Atoi(r.PathValue("id"))
	if err != nil {
		s.fail(w, err, http.StatusBadRequest)
		return
	}
	if err := s.DB.Cancel(id); err != nil {
		s.fail(w, err, http.StatusNotFound)
	}
}

func (s *Server) stats(w http.ResponseWriter, r *http.Request) {
	requests, failures := s.Count.Snapshot()
	_ = json.NewEncoder(w).Encode(map[string]any{"requests": requests, "failures": failures, "loads": s.Rates.Loads()})
}

func (s *Server) fail(w http.ResponseWriter, err error, code int) {
	s.Count.Failure()
	http.Error(w, err.Error(), code)
}
