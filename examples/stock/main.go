// Command stock runs a shop with two goroutines. The clerk books orders: it locks
// the order book and, while it holds that lock, the stock. The delivery locks the
// stock and, while it holds that lock, the order book, to serve waiting orders.
// The two goroutines acquire the same locks in opposite orders, so a deadlock is
// possible.
//
// Usually the clerk is done long before the delivery arrives. Only the time of
// arrival prevents the deadlock. Neither a race detector nor the runtime's check
// for deadlocks reports anything.
//
//	heisen run -detect lockorder ./examples/stock
//	heisen run -detect lockorder ./examples/stock -fixed
package main

import (
	"flag"
	"fmt"
	"sync"
	"time"
)

// A book has the orders that wait for goods.
type book struct {
	mu      sync.Mutex
	waiting map[string]int
	served  int
}

// A stock has the available goods.
type stock struct {
	mu    sync.Mutex
	goods map[string]int
}

type shop struct {
	orders book
	stock  stock
}

// order serves an order or adds it to the waiting ones.
func (s *shop) order(article string, n int) {
	s.orders.mu.Lock()
	defer s.orders.mu.Unlock()
	if s.take(article, n) {
		s.orders.served++
	} else {
		s.orders.waiting[article] += n
	}
}

// take removes goods from the stock if there are enough.
func (s *shop) take(article string, n int) bool {
	s.stock.mu.Lock()
	defer s.stock.mu.Unlock()
	if s.stock.goods[article] < n {
		return false
	}
	s.stock.goods[article] -= n
	return true
}

// deliver adds goods to the stock, except those for waiting orders.
func (s *shop) deliver(article string, n int) {
	s.stock.mu.Lock()
	defer s.stock.mu.Unlock()
	s.orders.mu.Lock() // the bug: the clerk acquires this lock first
	defer s.orders.mu.Unlock()
	s.enter(article, n)
}

// deliverFixed acquires the locks in the same order as the clerk.
func (s *shop) deliverFixed(article string, n int) {
	s.orders.mu.Lock()
	defer s.orders.mu.Unlock()
	s.stock.mu.Lock()
	defer s.stock.mu.Unlock()
	s.enter(article, n)
}

// enter books a delivery. The caller holds both locks.
func (s *shop) enter(article string, n int) {
	if waiting := s.orders.waiting[article]; waiting > 0 && waiting <= n {
		delete(s.orders.waiting, article)
		s.orders.served++
		n -= waiting
	}
	s.stock.goods[article] += n
}

func main() {
	fixed := flag.Bool("fixed", false, "enter deliveries with the locks in the order that orders use")
	flag.Parse()
	s := new(shop)
	s.orders.waiting = map[string]int{}
	s.stock.goods = map[string]int{"tea": 10}
	deliver := s.deliver
	if *fixed {
		deliver = s.deliverFixed
	}

	var working sync.WaitGroup
	working.Add(2)
	go func() {
		defer working.Done()
		s.order("tea", 3)
		s.order("coffee", 2)
	}()
	time.Sleep(250 * time.Millisecond) // the delivery is on its way
	go func() {
		defer working.Done()
		deliver("coffee", 20)
	}()
	working.Wait()

	fmt.Printf("%d orders served, %d teas and %d coffees left\n", s.orders.served, s.stock.goods["tea"], s.stock.goods["coffee"])
}
