// Plugin plugged has a function that must not be called by several goroutines.
package main

var counter = new(int)

// Count counts.
func Count() { *counter++ }

func main() {}
