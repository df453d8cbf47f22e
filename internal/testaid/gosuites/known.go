package main

// known explains why tests differ from go test -race: package, test and way. An entry without a test
// stands for all of the package.
var known = map[string]string{}
