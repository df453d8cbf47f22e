package quotes

import (
	"testing"
	"time"
)

func near(string) int { return 199 }

func far(string) int {
	time.Sleep(20 * time.Millisecond) // the network
	return 250
}

func TestCollect(t *testing.T) {
	var c Collector
	if best := c.Collect("lamp", near, far); best != 199 {
		t.Errorf("the best price is %d, want 199", best)
	}
}
