module places

go 1.25
