"""How the budget of a list is split between choosing the itemsets and their supports, before any data are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpmine.exact.reals import decimal_below
from dpmine.itemsets.release.noise import DiscreteGaussian, DiscreteLaplace, SupportNoise, narrower
from dpmine.ledger.budget import Amount
from dpmine.zcdp import rho_at

if TYPE_CHECKING:
    from fractions import Fraction

    from dpmine.selection.top_k import TopK

_DIGITS = 12  # of ρ


@dataclass(frozen=True, slots=True)
class BudgetSplit:
    """How a run's budget is split.

    Attributes:
        selection: the share of choosing the itemsets.
        supports: the noise of their supports, which gives the share of these; None where none are released.
        total: both together: a sum of ε and δ for Laplace noise, of ρ for Gaussian noise.
        rounds: how the selection's part is divided, in words.
    """

    selection: Amount
    supports: SupportNoise | None
    total: Amount
    rounds: str

    @classmethod
    def of(cls, top_k: TopK, epsilon: Fraction, delta: Fraction, most: int) -> BudgetSplit:
        """Supports at `epsilon` beside the selection (0 for none), `most` counts at most; δ is that of the whole run.

        Which noise they get is decided here, before any data are read: by what is narrower for the most counts.
        Gaussian noise gets the ρ that the selection leaves of the whole run's (ε, δ).
        """
        cost = top_k.zcdp
        selection = Amount(top_k.epsilon, top_k.delta, cost.rho, cost.delta)
        if not epsilon:
            return cls(selection, None, selection, top_k.rounds())
        laplace = DiscreteLaplace(epsilon)
        noise = narrower(laplace, _gaussian(top_k, epsilon, delta), most)
        both = cost + noise.zcdp
        basic = (selection.epsilon + epsilon, selection.delta if noise is laplace else delta)
        return cls(selection, noise, Amount(*basic, both.rho, both.delta), top_k.rounds())

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        selection = self.selection.to_dict()
        return {"selection": selection, "supports": self.supports and self.supports.to_dict(), "rounds": self.rounds}

    def __str__(self) -> str:
        if self.supports is None:
            return f"selection: {self.rounds}"
        return f"selection {self.selection} ({self.rounds}); supports {self.supports}"


def _gaussian(top_k: TopK, epsilon: Fraction, delta: Fraction) -> DiscreteGaussian | None:
    """Noise for the ρ that the selection leaves of (ε, δ); None where it leaves none, or nothing is guaranteed."""
    cost = top_k.zcdp
    if cost.delta >= delta or not top_k.mechanism.private:
        return None
    rho = rho_at(top_k.epsilon + epsilon, delta - cost.delta) - cost.rho
    return DiscreteGaussian(decimal_below(rho, _DIGITS)) if rho > 0 else None
