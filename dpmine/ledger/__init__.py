"""The ledger: how much of each data set's privacy budget is left."""
