//go:build windows || plan9 || js

package private

// noFollow has no meaning: on Windows and Plan 9 only users who may do so make links, and a JavaScript host has no such flag.
const noFollow = 0
