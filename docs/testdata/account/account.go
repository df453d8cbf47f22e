// Package account has an account that several tellers use.
package account

// Account is an account of a bank.
type Account struct {
	balance int
}

// Withdraw takes n from the balance, if there is enough. It reports whether there was.
func (a *Account) Withdraw(n int) bool {
	if a.balance >= n {
		a.balance -= n
		return true
	}
	return false
}
