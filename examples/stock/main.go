// Command stock runs a shop with two goroutines. The clerk books orders: he
// looks at the order book and, while he has it, at the stock. A delivery is
// entered into the stock and, while that is locked, into the orders that wait for
// it. So the two take the same two locks in opposite orders, and on a bad day each
// waits for the other for ever.
//
// On most days the clerk is done long before the delivery comes. Nothing but the
// time of day sees to that, but the program has never been seen to hang: neither
// a race detector nor the runtime's check for deadlocks has anything to say.
//
//	heisen run -detect lockorder ./examples/stock
//	heisen run -detect lockorder ./examples/stock -- -fixed
package main

import (
	"flag"
	"fmt"
	"sync"
	"time"
)

// book is the orders that wait for goods.
type book struct {
	mu      sync.Mutex
	waiting map[string]int
	served  int
}

// stock is the goods that are there.
type stock struct {
	mu    sync.Mutex
	goods map[string]int
}

type shop struct {
	orders book
	stock  stock
}

// order serves an order, or lets it wait.
func (s *shop) order(article string, n int) {
	s.orders.mu.Lock()
	defer s.orders.mu.Unlock()
	if s.take(article, n) {
		s.orders.served++
	} else {
		s.orders.waiting[article] += n
	}
}

// take takes goods from the stock, if there are enough.
func (s *shop) take(article string, n int) bool {
	s.stock.mu.Lock()
	defer s.stock.mu.Unlock()
	if s.stock.goods[article] < n {
		return false
	}
	s.stock.goods[article] -= n
	return true
}

// deliver puts goods into the stock, but for those that somebody waits for.
func (s *shop) deliver(article string, n int) {
	s.stock.mu.Lock()
	defer s.stock.mu.Unlock()
	s.orders.mu.Lock() // the bug: whoever orders takes this lock first
	defer s.orders.mu.Unlock()
	s.enter(article, n)
}

// deliverFixed takes the locks in the order in which the clerk does.
func (s *shop) deliverFixed(article string, n int) {
	s.orders.mu.Lock()
	defer s.orders.mu.Unlock()
	s.stock.mu.Lock()
	defer s.stock.mu.Unlock()
	s.enter(article, n)
}

// enter books a delivery; both locks are held.
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
	time.Sleep(250 * time.Millisecond) // the lorry is on its way
	go func() {
		defer working.Done()
		deliver("coffee", 20)
	}()
	working.Wait()

	fmt.Printf("%d orders served, %d teas and %d coffees left\n", s.orders.served, s.stock.goods["tea"], s.stock.goods["coffee"])
}
