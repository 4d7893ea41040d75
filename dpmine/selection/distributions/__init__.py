"""Exact output distributions of the selection mechanisms, from profiles of scores, by quadrature in float64.

For tests, audit and planner: they read public profiles only and draw nothing. Scores are in sensitivities.
"""
