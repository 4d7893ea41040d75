"""What is released of the chosen itemsets: noisy supports, rules, results."""
