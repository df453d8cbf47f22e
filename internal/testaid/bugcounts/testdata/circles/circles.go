package circles

// stage sends on what it receives, twice. In a circle of stages, each of them waits for the next one in the end.
func stage(in, out chan int) {
	for m := range in {
		out <- m
		out <- m
	}
}

// chosen is a stage that may be stopped.
func chosen(in, out chan int, quit chan bool) {
	for {
		select {
		case m := <-in:
			out <- m
			out <- m
		case <-quit:
			return
		}
	}
}
