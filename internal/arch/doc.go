// Package arch holds the module's architecture as a test: a table of the rooms
// that packages stand in, and a check that imports point down only. A package
// that has no room, or reaches up, fails the test suite.
package arch
