"""The k best candidates, chosen privately: one way a file, `build_top_k` makes them by name."""
