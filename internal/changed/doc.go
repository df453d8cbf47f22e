// Package changed finds the tests that can reach what has changed since a revision of a git repository.
//
// A declaration has changed if its tokens have: neither comments nor where it stands matter. A test
// reaches what its source names, what that names, and so on. A type that is reached brings those of its
// methods that an interface of any package in the program has by name, so that calls through interfaces
// are covered, and all its exported methods if the program looks up methods by reflection. Initializers of
// the packages in the test binary belong to every test. All of this takes too many tests rather than too
// few.
//
// What source does not say makes all tests of a binary count: a change in a file that is not Go, in a
// directive, in a package with C, in build constraints. A test that can start another process counts
// always, as what that process executes is not known. After a change in go.mod, go.sum, go.work or a vendor folder all
// tests of all packages count. Each [Cause] says so.
//
// Not seen are changes outside of the repository, such as another Go release, and files elsewhere in the
// repository that a test reads by a relative name: a file that belongs to no package counts for the closest
// package above it.
package changed
