module anteroom.dev/sample-shop

go 1.19
