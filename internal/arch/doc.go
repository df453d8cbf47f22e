// Package arch checks the architecture of the module. It has no code outside of its tests:
//
//   - A table has a room for every package: a floor, and what a package there may import. Imports
//     point down only. A package without a room fails the test.
//   - The reading map in the documentation of package heisen lists every room of the table.
//   - testdata/api.txt lists the public API, so that a change of it is a decision.
package arch
