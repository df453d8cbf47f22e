// Command hello is run by a test.
package main

import "fmt"

func main() { fmt.Println("hello") }
