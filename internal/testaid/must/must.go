// Package must shortens tests that call constructors whose error is not what is tested.
package must

// Make returns value. It panics if err is not nil, so that
//
//	d := must.Make(vclock.NewFastTrack())
//
// fails the test that calls it.
func Make[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
