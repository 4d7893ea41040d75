"""Finite classes of hypotheses, each with the universe that scores all of it exactly."""
