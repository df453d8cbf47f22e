package shop

import (
	"sync"
	"testing"
)

func TestAdd(t *testing.T) {
	var s Shop
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() { s.Add(i) })
	}
	wg.Wait()
}

func TestTake(t *testing.T) {
	s := Stock{items: 10}
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { s.Take(3) })
	}
	wg.Wait()
	if left := s.Items(); left != 4 {
		t.Errorf("%d are left", left)
	}
}

func TestTransfer(t *testing.T) {
	var a, b Account
	var wg sync.WaitGroup
	wg.Go(func() { Transfer(&a, &b, 1) })
	wg.Go(func() { Transfer(&b, &a, 1) })
	wg.Wait()
}

func TestFirst(t *testing.T) {
	if First(func() int { return 1 }, func() int { return 1 }) != 1 {
		t.Error("not 1")
	}
}
