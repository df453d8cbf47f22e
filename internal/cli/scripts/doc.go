// Package scripts tests the command as users and other programs see it: its tests run the scripts in
// testdata/script. They are apart from the other tests of the command because they take minutes.
package scripts
