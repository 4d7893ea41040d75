"""What an audit of a mechanism reports: a verdict, what shows it, and how strong the test was."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from dpmine.io.atomic import new_figure, write_picture
from dpmine.markup import ShownAsText, json_text

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

    from dpmine.auditing.targets.claims import Claim, Evidence

_LONGEST = 300  # characters of a data set in the text


@dataclass(frozen=True, slots=True)
class Tried:
    """What was tried: pairs of neighbours, events among outcomes, runs of the mechanism on both sides, and how long.

    Attributes:
        pairs: of neighbours.
        events: that the choice was made among; 0 with `law`, which compares all events.
        draws: runs of the mechanism; 0 with `law`.
        measured_draws: the runs on each side of the last measurement, which nothing was chosen from; 0 with `law`.
        seconds: the time taken.
        stopped: whether the time ended the search.
    """

    pairs: int
    events: int
    draws: int
    measured_draws: int
    seconds: float
    stopped: bool


@dataclass(frozen=True, slots=True)
class TargetReport(ShownAsText):
    """Measured against claimed privacy of one mechanism. It is never shown to be private: only refuted, or not.

    Attributes:
        claim: what is claimed.
        evidence: the figure measured, a lower bound on the true one, and the figure claimed.
        confidence: the probability, at least, that a true claim is not refuted; 1 with `law`.
        before: one data set of the worst pair found, where the event is more likely.
        after: its neighbour, where the event is less likely.
        event: the outcomes that show the figure.
        shares: how often the event occurred in the measured runs, on `before` and on `after`; None for output
            distributions.
        tried: how much was tried.
        visible: the largest ε that the measurement could have shown; infinite with `law`.
        profile: (ε, δ measured, δ claimed) for the picture.
    """

    claim: Claim
    evidence: Evidence
    confidence: float
    before: Any
    after: Any
    event: str
    shares: tuple[float, float] | None
    tried: Tried
    visible: float
    profile: tuple[tuple[float, float, float], ...]

    @property
    def refuted(self) -> bool:
        """Whether more was measured than is claimed."""
        return self.evidence.refutes

    @property
    def holds(self) -> bool:
        """Whether the claim was not refuted."""
        return not self.refuted

    @property
    def verdict(self) -> str:
        """As a text: "refuted" or "not refuted"."""
        return "refuted" if self.refuted else "not refuted"

    @property
    def measured(self) -> float:
        """The lower bound on the claim's figure."""
        return self.evidence.measured

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form; data sets as texts."""
        return {
            "verdict": self.verdict,
            "claim": self.claim.to_dict(),
            "figure": self.evidence.figure,
            "measured": self.evidence.measured,
            "claimed": self.evidence.claimed,
            "confidence": self.confidence,
            "before": repr(self.before),
            "after": repr(self.after),
            "event": self.event,
            "shares": None if self.shares is None else list(self.shares),
            "largest_visible_epsilon": self.visible if isfinite(self.visible) else None,
            "tried": {name: getattr(self.tried, name) for name in Tried.__slots__},
            "profile": [list(point) for point in self.profile],
        }

    def to_json(self) -> str:
        """One JSON object."""
        return json_text(self.to_dict())

    def plot(self, path: str | Path) -> None:
        """Write a picture to `path` (.svg or .png): the worst pair's measured privacy profile, beside the one claimed.

        Raises BadParameter for another suffix, UnreadableFile where nothing can be written.
        """
        figure = new_figure(6.4, 4.2)
        _draw(figure.subplots(), self)
        write_picture(figure, path, "The measured privacy profile of the worst pair beside the claimed one")

    def __str__(self) -> str:
        evidence = self.evidence
        lines = [
            f"{self.verdict}: {self.claim}",
            f"measured   {evidence.figure}: at least {evidence.measured:.4g}; claimed: {evidence.claimed:.4g}",
            f"certainty  {self._certainty()}",
            f"before     {_shown(self.before)}",
            f"after      {_shown(self.after)}",
            f"event      {self.event}{self._shares()}",
            f"tried      {self._effort()}",
        ]
        return "\n".join(lines if self.refuted else [*lines, f"strength   {self._strength()}"])

    def _certainty(self) -> str:
        if self.shares is None:
            return "output distributions were compared: certain, up to the rounding of floats"
        return f"a true claim is refuted with probability at most {1 - self.confidence:.2g}"

    def _shares(self) -> str:
        if self.shares is None:
            return ""
        before, after = self.shares
        return f"; in {before:.4g} of the runs before, in {after:.4g} after"

    def _effort(self) -> str:
        tried = self.tried
        runs = f", {tried.events:,} events, {tried.draws:,} runs" if tried.draws else ""
        end = "; the time limit ended the search" if tried.stopped else ""
        return f"{tried.pairs:,} pairs of neighbours{runs}, in {tried.seconds:.1f} seconds{end}"

    def _strength(self) -> str:
        """How near the test came, and what it could not see."""
        share = f"{self.evidence.measured / self.evidence.claimed:.0%} of the claim" if self.evidence.claimed else "0"
        limit = f"; {self.tried.measured_draws:,} runs cannot show more than ε = {self.visible:.3g}"
        return f"the worst pair shows {share}{limit if isfinite(self.visible) else ''}; this is no proof of privacy"


_MEASURED, _CLAIMED = "#d62728", "#4c78a8"


def _draw(axes: Axes, report: TargetReport) -> None:
    epsilons, measured, claimed = (list(column) for column in zip(*report.profile, strict=True))
    axes.plot(epsilons, claimed, color=_CLAIMED, label=f"claimed: {report.claim}")
    axes.plot(epsilons, measured, color=_MEASURED, linestyle="--", label="measured, at least")
    axes.set_xlabel("ε")
    axes.set_ylabel("δ(ε)")
    axes.set_yscale("symlog", linthresh=1e-3)
    axes.set_ylim(bottom=0)
    axes.set_title(report.verdict)
    axes.legend()


def _shown(data: object) -> str:
    text = repr(data)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
