package measure

import (
	"math"
	"testing"
)

func TestAverages(t *testing.T) {
	if m := Median([]float64{9, 1, 2}); m != 2 {
		t.Errorf("median %v of three values, want 2", m)
	}
	if m := Median([]float64{9, 1, 2, 4}); m != 3 {
		t.Errorf("median %v of four values, want 3", m)
	}
	if m := GeometricMean([]float64{0.5, 8}); math.Abs(m-2) > 1e-9 {
		t.Errorf("geometric mean %v of 0.5 and 8, want 2", m)
	}
	if m := GeometricMean(nil); !math.IsNaN(m) {
		t.Errorf("geometric mean %v of nothing", m)
	}
}
