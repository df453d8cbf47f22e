package library

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

// order is a document with strings, numbers, times, maps and nested lists.
type order struct {
	ID       string            `json:"id" yaml:"id"`
	Customer customer          `json:"customer" yaml:"customer"`
	Items    []item            `json:"items" yaml:"items"`
	Labels   map[string]string `json:"labels" yaml:"labels"`
	Placed   time.Time         `json:"placed" yaml:"placed"`
	Paid     bool              `json:"paid" yaml:"paid"`
}

type customer struct {
	Name  string `json:"name" yaml:"name"`
	Email string `json:"email" yaml:"email"`
}

type item struct {
	Name  string  `json:"name" yaml:"name"`
	Count int     `json:"count" yaml:"count"`
	Price float64 `json:"price" yaml:"price"`
}

func newOrder(items int) *order {
	o := &order{
		ID:       "order-1",
		Customer: customer{"Ada", "ada@example.com"},
		Labels:   map[string]string{"channel": "web", "region": "north"},
		Placed:   time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}
	for n := range items {
		o.Items = append(o.Items, item{fmt.Sprintf("item %d", n), n % 7, float64(n) * 1.25})
	}
	return o
}

func BenchmarkJSONMarshal(b *testing.B) {
	o := newOrder(20)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := json.Marshal(o); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

func BenchmarkJSONUnmarshal(b *testing.B) {
	text, err := json.Marshal(newOrder(20))
	if err != nil {
		b.Fatal(err)
	}
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			var o order
			if err := json.Unmarshal(text, &o); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

func BenchmarkYAML(b *testing.B) {
	o := newOrder(10)
	for b.Loop() {
		text, err := yaml.Marshal(o)
		if err != nil {
			b.Fatal(err)
		}
		var back order
		if err := yaml.NewDecoder(bytes.NewReader(text)).Decode(&back); err != nil {
			b.Fatal(err)
		}
	}
}
