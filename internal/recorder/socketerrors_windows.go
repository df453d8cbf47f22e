package recorder

// hungUp returns false: a pipe that the other side has closed has an end.
func hungUp(error) bool { return false }
