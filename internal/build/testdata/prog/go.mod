module prog

go 1.25
