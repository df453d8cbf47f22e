package confirm

import "regexp"

// latePanics matches the message of a panic because of a late use.
var latePanics = regexp.MustCompile(`^((Log|Fail) in goroutine|(Output|Write) called) after .*has completed`)

// OfLateUse reports whether a program has ended because a test was used after its end.
func OfLateUse(o Outcome) bool { return o.Class == Panicked && latePanics.MatchString(o.Message) }
