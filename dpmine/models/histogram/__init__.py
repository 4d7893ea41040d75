"""A private density: noisy bin counts, the number of bins chosen privately."""
