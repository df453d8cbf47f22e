package main

import (
	"fmt"
	"strings"
	"time"
)

// site is a web site: the links of each address.
type site map[string][]string

// newSite makes a site of n pages, each linking to up to three others.
func newSite(n int) site {
	s := site{}
	for i := range n {
		for _, j := range []int{2*i + 1, 2*i + 2, i / 2} {
			if j < n {
				s[address(i)] = append(s[address(i)], address(j))
			}
		}
	}
	return s
}

func address(i int) string { return fmt.Sprintf("/%d", i) }

// latency is how long the site takes to answer.
const latency = 2 * time.Millisecond

// fetch returns the text of a page, and its links.
func (s site) fetch(address string) (text string, links []string) {
	time.Sleep(latency)
	links = s[address]
	return "<a>" + strings.Join(links, "</a><a>") + "</a>", links
}
