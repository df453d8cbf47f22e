package mcm

// rulesOf returns the rules that options say.
func rulesOf(options []Option) rules {
	s := defaults()
	for _, option := range options {
		if err := option(&s); err != nil {
			panic(err)
		}
	}
	return s.rules
}

func enumerate(w *Window, options ...Option) *brute {
	return enumerateStates(w, rulesOf(options))
}

// enumerateWithout leaves out the steps that never says are not taken.
func enumerateWithout(w *Window, never func(done []bool, i int) bool, options ...Option) *brute {
	return enumerateStatesWithout(w, rulesOf(options), never)
}
