// Package waits has accesses in statements that wait.
package waits

import "time"

type job struct {
	state   string
	results chan string
	tries   int
}

func (j *job) send() {
	j.results <- j.state
}

func (j *job) set(state string) {
	j.state = state
	time.Sleep(time.Microsecond)
	j.tries++
}

func (j *job) first() {
	if j.tries > 3 {
		time.Sleep(time.Microsecond)
	}
}
