module predicted

go 1.25
