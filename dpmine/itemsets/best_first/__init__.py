"""Counts of itemsets, each chosen by what the noisy ones before it say, and what they estimate together."""
