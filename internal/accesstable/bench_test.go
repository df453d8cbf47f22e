package accesstable

import "testing"

func BenchmarkFind(b *testing.B) {
	plain, instrumented := buildBoth(b, "testdata/web")
	b.ReportAllocs()
	for b.Loop() {
		t, err := Find(plain, instrumented)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(t.Places)), "places")
	}
}
