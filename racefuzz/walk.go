package racefuzz

import "github.com/heisen-go/heisen/internal/core/strategies"

// RandomWalk chooses each time among all tasks that can go on, each as likely as
// another.
//
// Promise: every execution of a program has a probability above 0. It can be tiny: an
// execution that needs one certain choice out of n at each of k steps has 1/n^k, and the
// chance that a task gets nowhere while another makes k steps halves with each of them.
func RandomWalk() Strategy {
	return &picked{config: strategies.Config{Strategy: strategies.RandomWalk}, name: "random-walk"}
}
