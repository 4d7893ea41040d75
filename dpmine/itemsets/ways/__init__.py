"""The ways to choose a list of itemsets, and the candidates they choose from."""
