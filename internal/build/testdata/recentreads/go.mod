module example.com/recentreads

go 1.25
