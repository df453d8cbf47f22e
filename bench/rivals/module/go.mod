module github.com/heisen-go/heisen/bench/rivals/module

go 1.25.0

require (
	github.com/sasha-s/go-deadlock v0.3.9
	go.uber.org/goleak v1.3.0
)

require github.com/petermattis/goid v0.0.0-20250813065127-a731cc31b4fe // indirect
