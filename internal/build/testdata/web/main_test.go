package main

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestCount(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(count))
	defer server.Close()
	if err := ask(server.URL); err != nil {
		t.Error(err)
	}
}
