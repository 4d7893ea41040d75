"""From columns to baskets."""
