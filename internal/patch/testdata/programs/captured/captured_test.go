package captured

import "testing"

func Test(t *testing.T) {
	if sum, all := squares(4); sum != 14 || len(all) != 4 {
		t.Error(sum, all)
	}
}
