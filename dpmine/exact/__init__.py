"""Exact randomness: reals known by refinable balls, and decisions that no rounding can change."""
