module reattach/tests/clients/contract

go 1.25.0
