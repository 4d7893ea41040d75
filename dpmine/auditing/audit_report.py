"""What an audit reports: claimed against measured privacy."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpmine.io.atomic import new_figure, write_picture
from dpmine.markup import ShownAsText
from dpmine.privacy import Neighbors, rounded_up

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes


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
        stage: "search", "early stop" or "draw"; None for the whole mechanism.
        parts: the rows of the mechanism's stages.
    """

    mechanism: str
    neighbors: Neighbors
    epsilon: Fraction | float
    delta: Fraction | float
    measured_delta: float
    measured_epsilon: float
    stage: str | None = None
    parts: tuple[AuditRow, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether the claim survived; for a whole mechanism, whether its stages' claims did too."""
        return self.measured_delta <= float(self.delta) and all(part.holds for part in self.parts)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form; the key "stage" is there for stages only."""
        return {
            "mechanism": self.mechanism,
            "neighbors": str(self.neighbors),
            **({"stage": self.stage} if self.stage else {}),
            "epsilon": rounded_up(Fraction(self.epsilon)),
            "delta": rounded_up(Fraction(self.delta)),
            "measured_delta": self.measured_delta,
            "measured_epsilon": self.measured_epsilon,
            "holds": self.holds,
        }


@dataclass(frozen=True, slots=True)
class AuditReport(ShownAsText):
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
        """Write a picture to `path` (.svg or .png): a bar for the ε measured in every row, and a tick at the ε claimed.

        Raises BadParameter for another suffix, UnreadableFile where nothing can be written.
        """
        rows = [row for row in self._rows() if row.epsilon]  # an early stop has no ε
        figure = new_figure(8, 1.2 + 0.28 * len(rows))
        _draw(figure.subplots(), rows)
        write_picture(figure, path, "The measured ε of each row of the audit beside the claimed ε")

    def _rows(self) -> list[AuditRow]:
        return [part for row in self.mechanisms for part in (row, *row.parts)]

    def __str__(self) -> str:
        rows = [_cells(row) for row in self._rows()]
        widths = [max(map(len, column)) for column in zip(_HEADER, *rows, strict=True)]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in (_HEADER, *rows)
        )


def _cells(row: AuditRow) -> tuple[str, ...]:
    return (
        f"  {row.stage}" if row.stage else row.mechanism,
        str(row.neighbors).replace("_", "-"),
        f"{rounded_up(Fraction(row.epsilon)):.6g}",
        f"{row.measured_epsilon:.6g}",
        f"{rounded_up(Fraction(row.delta)):.3g}",
        f"{row.measured_delta:.3g}",
        "holds" if row.holds else "BROKEN",
    )


_HOLDS, _BROKEN, _CLAIMED = "#4c78a8", "#d62728", "#333333"


def _draw(axes: Axes, rows: list[AuditRow]) -> None:
    places = range(len(rows))
    axes.barh(places, [row.measured_epsilon for row in rows], color=[_HOLDS if row.holds else _BROKEN for row in rows])
    axes.plot([float(row.epsilon) for row in rows], places, "|", color=_CLAIMED, markersize=12, label="claimed")
    axes.set_yticks(places, [_label(row) for row in rows], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel("ε: measured (bars) and claimed (ticks); bars of refuted claims are red")
    axes.legend(loc="lower right")


def _label(row: AuditRow) -> str:
    if row.stage:
        return row.stage
    return f"{row.mechanism}, {str(row.neighbors).replace('_', '-')}, ε = {float(row.epsilon):g}"
