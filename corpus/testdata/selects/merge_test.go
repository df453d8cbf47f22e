package selects

import "testing"

func numbers(n int) <-chan int {
	out := make(chan int)
	go func() {
		defer close(out)
		for i := range n {
			out <- i
		}
	}()
	return out
}

// merge switches a source off when it ends. When both have ended, it waits for ever.
func merge(a, b <-chan int, out chan<- int) {
	for {
		select { // want leak
		case n, ok := <-a:
			if !ok {
				a = nil
				continue
			}
			out <- n
		case n, ok := <-b:
			if !ok {
				b = nil
				continue
			}
			out <- n
		}
	}
}

// mergeAll ends when both sources have ended.
func mergeAll(a, b <-chan int, out chan<- int) {
	for a != nil || b != nil {
		select {
		case n, ok := <-a:
			if !ok {
				a = nil
				continue
			}
			out <- n
		case n, ok := <-b:
			if !ok {
				b = nil
				continue
			}
			out <- n
		}
	}
}

func sumOf(merge func(a, b <-chan int, out chan<- int)) (sum int) {
	out := make(chan int)
	go merge(numbers(3), numbers(2), out)
	for range 5 {
		sum += <-out
	}
	return sum
}

// TestMerge merges two sources of numbers.
func TestMerge(t *testing.T) {
	if sum := sumOf(merge); sum != 4 {
		t.Errorf("sum %d", sum)
	}
}

func TestMergeFixed(t *testing.T) {
	if sum := sumOf(mergeAll); sum != 4 {
		t.Errorf("sum %d", sum)
	}
}
