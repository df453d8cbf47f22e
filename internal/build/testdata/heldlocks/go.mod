module example.com/heldlocks

go 1.25
