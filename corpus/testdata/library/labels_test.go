package library

import (
	"context"
	"maps"
	"sync"
	"testing"
)

type labelsKey struct{}

// withLabels puts labels into a context. All contexts that are made from it share the map.
func withLabels(ctx context.Context, labels map[string]string) context.Context {
	return context.WithValue(ctx, labelsKey{}, labels)
}

// label changes the map in the context.
func label(ctx context.Context, key, value string) context.Context {
	labels := ctx.Value(labelsKey{}).(map[string]string)
	labels[key] = value // want race, failure "concurrent map writes"
	return ctx
}

func labelCopy(ctx context.Context, key, value string) context.Context {
	labels := maps.Clone(ctx.Value(labelsKey{}).(map[string]string))
	labels[key] = value
	return withLabels(ctx, labels)
}

func handleAll(t *testing.T, label func(ctx context.Context, key, value string) context.Context) {
	ctx := withLabels(t.Context(), map[string]string{"service": "shop"})
	var wg sync.WaitGroup
	for _, user := range []string{"ann", "bob"} {
		wg.Go(func() { label(ctx, "user", user) })
	}
	wg.Wait()
}

// TestLabels handles two requests with contexts that have the same parent.
func TestLabels(t *testing.T) { handleAll(t, label) }

func TestLabelsFixed(t *testing.T) { handleAll(t, labelCopy) }
