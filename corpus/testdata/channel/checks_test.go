package channel

import (
	"errors"
	"testing"
)

// A check is a health check of one of several hosts.
type check struct {
	host string
	err  error
}

var errDown = errors.New("down")

func ping(host string) error {
	if host == "db" {
		return errDown
	}
	return nil
}

// checkAll returns at the first error. The checks that are left have nobody to send to.
func checkAll(hosts []string, results chan check) error {
	for _, h := range hosts {
		go func() {
			results <- check{h, ping(h)} // want leak
		}()
	}
	for range hosts {
		if c := <-results; c.err != nil {
			return c.err
		}
	}
	return nil
}

// TestChecks has a host that is down. Whether checks are left depends on the order of the answers.
func TestChecks(t *testing.T) {
	hosts := []string{"web", "cache", "db"}
	if err := checkAll(hosts, make(chan check)); err != errDown {
		t.Errorf("error %v", err)
	}
}

func TestChecksFixed(t *testing.T) {
	hosts := []string{"web", "cache", "db"}
	if err := checkAll(hosts, make(chan check, len(hosts))); err != errDown {
		t.Errorf("error %v", err)
	}
}
