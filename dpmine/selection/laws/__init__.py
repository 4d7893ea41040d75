"""Exact output laws of the selection mechanisms, as float64 quadrature: profiles of scores, and how laws follow.

For tests, audit and planner: they read public profiles only and draw nothing. Scores are in sensitivities.
"""
