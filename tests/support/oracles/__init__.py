"""Slow and plain computations of what the library computes fast."""
