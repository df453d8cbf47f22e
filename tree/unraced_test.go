//go:build !race

package tree_test

const raced = false
