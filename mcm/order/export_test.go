package order

// LogLearned calls f with each clause that s learns.
func LogLearned(s *Solver, f func(clause []Lit)) { s.logged = f }
