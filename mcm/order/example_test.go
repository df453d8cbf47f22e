package order_test

import (
	"context"
	"fmt"

	"github.com/heisen-go/heisen/mcm/order"
)

// Two threads have a critical section of the same lock each. Can the second one come first, and can
// it begin within the first?
func Example() {
	s, err := order.NewSolver([]int{3, 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	acquire1, write, release1 := s.Node(0, 0), s.Node(0, 1), s.Node(0, 2)
	acquire2, release2 := s.Node(1, 0), s.Node(1, 1)
	// One section ends before the other begins.
	if err := s.Add(order.Lit{Before: release1, After: acquire2}, order.Lit{Before: release2, After: acquire1}); err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	result, err := s.Solve(ctx, []order.Lit{{Before: release2, After: write}}, nil)
	fmt.Println(result, err, s.Order())

	within := []order.Lit{{Before: write, After: acquire2}, {Before: acquire2, After: release1}}
	result, err = s.Solve(ctx, within, nil)
	fmt.Println(result, err, s.Failed())
	// Output:
	// sat <nil> [3 4 0 1 2]
	// unsat <nil> [3<2 1<3]
}

// Two threads write a flag and a third one reads it. Can it read what the first one wrote if the
// second one writes later, and still before the read?
func ExampleSolver_AddRead() {
	s, err := order.NewSolver([]int{1, 1, 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	up, down, read := s.Node(0, 0), s.Node(1, 0), s.Node(2, 0)
	flag, err := s.NewVariable(0, order.Write{Node: up, Value: 1}, order.Write{Node: down, Value: 0})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := s.AddRead(flag, read, 1); err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	later := order.Lit{Before: up, After: down}
	result, err := s.Solve(ctx, []order.Lit{later}, nil)
	fmt.Println(result, err, s.Order())
	result, err = s.Solve(ctx, []order.Lit{later, {Before: down, After: read}}, nil)
	fmt.Println(result, err)
	// Output:
	// sat <nil> [0 2 1]
	// unsat <nil>
}
