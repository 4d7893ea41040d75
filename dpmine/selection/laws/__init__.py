"""Exact output laws of the selection mechanisms, as float64 quadrature.

For tests, audit and planner: they read public profiles only and draw nothing. Scores are in sensitivities.
"""

from dpmine.selection.laws.large_margin import (
    StopLaw,
    draw_law,
    large_margin,
    large_margin_search,
    large_margin_tight,
    large_margin_tight_search,
    search_and_draw,
    stopping_law,
)
from dpmine.selection.laws.noisy_max import max_of_exponentials, max_of_laplaces
from dpmine.selection.laws.profile import LevelLaw, Profile
from dpmine.selection.laws.search import Hazard, LaplacePair, NegativeExponential, Search
from dpmine.selection.laws.weighted import bounded_growth, exact, exponential, limited_domain, stable_maximiser

__all__ = [
    "Hazard",
    "LaplacePair",
    "LevelLaw",
    "NegativeExponential",
    "Profile",
    "Search",
    "StopLaw",
    "bounded_growth",
    "draw_law",
    "exact",
    "exponential",
    "large_margin",
    "large_margin_search",
    "large_margin_tight",
    "large_margin_tight_search",
    "limited_domain",
    "max_of_exponentials",
    "max_of_laplaces",
    "search_and_draw",
    "stable_maximiser",
    "stopping_law",
]
