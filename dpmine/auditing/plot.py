"""The picture of an audit: claimed against measured ε."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpmine.io.figures import new_figure, picture_target, write_picture

if TYPE_CHECKING:
    from pathlib import Path

    from dpmine.auditing.report import AuditReport, AuditRow

_HOLDS, _BROKEN, _CLAIMED = "#4c78a8", "#d62728", "#333333"


def plot_report(report: AuditReport, path: str | Path) -> None:
    """Write a picture with a bar for every row's measured ε, and a tick at the ε claimed.

    Raises BadParameter for a suffix other than .svg and .png, UnreadableFile where nothing can be written.
    """
    target = picture_target(path)
    rows = [part for row in report.mechanisms for part in (row, *row.parts) if part.epsilon]  # an early stop has no ε
    figure = new_figure(8, 1.2 + 0.28 * len(rows))
    _draw(figure.subplots(), rows)
    write_picture(figure, target)


def _draw(axes: Any, rows: list[AuditRow]) -> None:
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
