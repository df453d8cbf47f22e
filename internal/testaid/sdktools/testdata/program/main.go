// Command racy has a race.
package main

import "fmt"

func count(n *int, done chan<- bool) {
	*n++
	done <- true
}

func race(n *int) {
	done := make(chan bool)
	go count(n, done)
	go count(n, done)
	<-done
	<-done
}

func main() {
	n := 41
	race(&n)
	fmt.Println(n > 41)
}
