"""What an audit reports: claimed against measured privacy."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpmine.privacy import rounded_up

if TYPE_CHECKING:
    from fractions import Fraction
    from pathlib import Path

    from dpmine.privacy import Neighbors

_HEADER = ("mechanism", "neighbours", "claimed ε", "measured ε", "claimed δ", "measured δ", "")


@dataclass(frozen=True, slots=True)
class AuditRow:
    """Claimed against measured privacy.

    Attributes:
        mechanism: its name.
        neighbors: the relation.
        epsilon: the ε claimed; of a stage, its share.
        delta: the δ claimed; 0 for pure mechanisms.
        measured_delta: the largest δ(ε) found at the claimed ε, a lower bound on the true one.
        measured_epsilon: the least ε' with δ(ε') ≤ the claimed δ on all pairs found, a lower bound on the true one.
        holds: whether the claim survived; for a whole mechanism, whether its stages' claims did too.
        stage: "search", "early stop" or "draw"; None for the whole mechanism.
        parts: the rows of the mechanism's stages.
    """

    mechanism: str
    neighbors: Neighbors
    epsilon: Fraction | float
    delta: Fraction | float
    measured_delta: float
    measured_epsilon: float
    holds: bool
    stage: str | None = None
    parts: tuple[AuditRow, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form; the key "stage" is there for stages only."""
        return {
            "mechanism": self.mechanism,
            "neighbors": str(self.neighbors),
            **({"stage": self.stage} if self.stage else {}),
            "epsilon": _as_float(self.epsilon),
            "delta": _as_float(self.delta),
            "measured_delta": self.measured_delta,
            "measured_epsilon": self.measured_epsilon,
            "holds": self.holds,
        }

    def cells(self) -> tuple[str, ...]:
        """The row of the text table."""
        return (
            f"  {self.stage}" if self.stage else self.mechanism,
            str(self.neighbors).replace("_", "-"),
            f"{_as_float(self.epsilon):.6g}",
            f"{self.measured_epsilon:.6g}",
            f"{_as_float(self.delta):.3g}",
            f"{self.measured_delta:.3g}",
            "holds" if self.holds else "BROKEN",
        )


@dataclass(frozen=True, slots=True)
class AuditReport:
    """What an audit found: a row for every mechanism and relation (and every point of a grid)."""

    mechanisms: tuple[AuditRow, ...]

    @property
    def stages(self) -> tuple[AuditRow, ...]:
        """The rows of all stages, in the order of their mechanisms."""
        return tuple(part for row in self.mechanisms for part in row.parts)

    @property
    def holds(self) -> bool:
        """Whether no claim was refuted."""
        return all(row.holds for row in self.mechanisms)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {
            "mechanisms": [row.to_dict() for row in self.mechanisms],
            "stages": [row.to_dict() for row in self.stages],
        }

    def to_json(self) -> str:
        """One JSON object."""
        return json.dumps(self.to_dict())

    def plot(self, path: str | Path) -> None:
        """Claimed against measured ε as a picture; the suffix says which kind (.svg, .png)."""
        from dpmine.auditing.plot import plot_report

        plot_report(self, path)

    def __str__(self) -> str:
        rows = [part.cells() for row in self.mechanisms for part in (row, *row.parts)]
        widths = [max(map(len, column)) for column in zip(_HEADER, *rows, strict=True)]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in (_HEADER, *rows)
        )


def _as_float(value: Fraction | float) -> float:
    return value if isinstance(value, float) else rounded_up(value)
