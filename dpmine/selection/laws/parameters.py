"""The laws' numeric parameters: their checks, and what follows from the neighbour relation."""

from __future__ import annotations

import math

from dpmine.errors import BadParameter
from dpmine.privacy import Neighbors


def require_positive(**parameters: float) -> None:
    """Raises BadParameter for a parameter that is not a finite number greater than 0."""
    for name, value in parameters.items():
        if not (math.isfinite(value) and value > 0):
            raise BadParameter(f"{name} must be a finite number greater than 0.")


def require_probability(**parameters: float) -> None:
    """Raises BadParameter for a parameter that does not lie strictly between 0 and 1."""
    for name, value in parameters.items():
        if not 0 < value < 1:
            raise BadParameter(f"{name} must lie strictly between 0 and 1.")


def margin_sensitivity(neighbors: Neighbors) -> int:
    """How far one privacy unit moves the difference of two scores, in sensitivities.

    Under add_remove all scores move the same way, by at most 1; under replace_one they may move apart.
    """
    return 1 if neighbors is Neighbors.ADD_REMOVE else 2
