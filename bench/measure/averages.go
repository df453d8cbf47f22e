package measure

import (
	"math"
	"slices"
)

// Median returns the median of values, of which there is at least one.
func Median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// GeometricMean returns the geometric mean of ratios, not a number if there are none.
func GeometricMean(ratios []float64) float64 {
	logs := 0.0
	for _, r := range ratios {
		logs += math.Log(r)
	}
	return math.Exp(logs / float64(len(ratios)))
}
