package order_test

import (
	"fmt"

	"github.com/heisen-go/heisen/mcm/order"
)

// Two threads have a critical section each, of the same lock. Can the second one
// come first, and can it begin within the first?
func Example() {
	s, err := order.New([]int{3, 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	acquire1, write, release1 := s.At(0, 0), s.At(0, 1), s.At(0, 2)
	acquire2, release2 := s.At(1, 0), s.At(1, 1)
	// One section ends before the other begins.
	if err := s.Add(order.Lit{Before: release1, After: acquire2}, order.Lit{Before: release2, After: acquire1}); err != nil {
		fmt.Println(err)
		return
	}
	first := order.Lit{Before: release2, After: write}
	fmt.Println(s.Solve([]order.Lit{first}, nil), s.Order())

	within := []order.Lit{{Before: write, After: acquire2}, {Before: acquire2, After: release1}}
	fmt.Println(s.Solve(within, nil), s.Failed())
	// Output:
	// yes [3 4 0 1 2]
	// no [{3 2} {1 3}]
}

// Two threads write a flag, and a third one reads it. Can it read what the first one
// wrote if the second one writes later, and still before the read?
func ExampleSolver_AddRead() {
	s, err := order.New([]int{1, 1, 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	up, down, read := s.At(0, 0), s.At(1, 0), s.At(2, 0)
	flag, err := s.NewVariable(0, order.Write{Node: up, Value: 1}, order.Write{Node: down, Value: 0})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := s.AddRead(flag, read, 1); err != nil {
		fmt.Println(err)
		return
	}
	later := order.Lit{Before: up, After: down}
	fmt.Println(s.Solve([]order.Lit{later}, nil), s.Order())
	fmt.Println(s.Solve([]order.Lit{later, {Before: down, After: read}}, nil))
	// Output:
	// yes [0 2 1]
	// no
}
