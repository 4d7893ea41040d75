"""Inputs with one hostile row, and what a reader of a run sees of it."""
