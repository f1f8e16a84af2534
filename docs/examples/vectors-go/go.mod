module example.org/resumption

go 1.22
