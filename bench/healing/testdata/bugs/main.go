// Command bugs runs small Go counterparts of the bugs in table 1 of Weeratunge, Zhang and Jagannathan, and of an example
// of the AtomRace paper, many times. It prints how many runs of each went wrong.
//
//	bugs [-runs n] [-calm] [name...]
//
// With -calm, goroutines run one after the other, and no run goes wrong. Otherwise they yield at random places.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"sync"
)

// together runs functions in goroutines and reports whether all of them returned true.
func together(all ...func() bool) bool {
	good := make([]bool, len(all))
	var running sync.WaitGroup
	for i, f := range all {
		running.Go(func() {
			defer func() {
				if recover() != nil {
					good[i] = false
				}
			}()
			pause()
			good[i] = f()
		})
		if calm {
			running.Wait()
		}
	}
	running.Wait()
	return !slices.Contains(good, false)
}

// bug is a program that may go wrong.
type bug struct {
	name string
	run  func() bool // reports whether it went well
}

var bugs = []bug{
	{"aget", aget}, {"pbzip2", pbzip2}, {"nszip", nszip}, {"apache-25520", apache25520}, {"spidermonkey", spidermonkey},
	{"mysql-791", mysql791}, {"mysql-12848", mysql12848}, {"mysql-14747", mysql14747}, {"mysql-35714", mysql35714},
	{"mysql-16333", mysql16333}, {"mysql-20850", mysql20850}, {"apache-44402", apache44402},
	{"closer", closer},
}

func main() {
	runs := flag.Int("runs", 1, "runs of each program")
	ordered := flag.Bool("calm", false, "run goroutines one after the other")
	flag.Parse()
	calm = *ordered
	wrong := 0
	for _, b := range bugs {
		if flag.NArg() > 0 && !slices.Contains(flag.Args(), b.name) {
			continue
		}
		n := 0
		for range *runs {
			if !b.run() {
				n++
			}
		}
		wrong += n
		fmt.Println(b.name, n)
	}
	if calm && wrong > 0 {
		os.Exit(1)
	}
}
