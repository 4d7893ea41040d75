"""How the budget of a list is split between choosing the itemsets and their supports, before any data are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpmine.exact.reals import decimal_below
from dpmine.itemsets.release.noise import DiscreteGaussian, DiscreteLaplace, SupportNoise, narrower
from dpmine.ledger.budget import Accounting, Amount
from dpmine.privacy import decimal
from dpmine.zcdp import rho_at

if TYPE_CHECKING:
    from fractions import Fraction

    from dpmine.markup import Document
    from dpmine.privacy import Guarantee

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
    def of(cls, choice: Guarantee, rounds: str, *, epsilon: Fraction, delta: Fraction, most: int) -> BudgetSplit:
        """Supports at `epsilon` beside the choice (0 for none), `most` counts at most; δ is that of the whole run.

        Which noise they get is decided here, before any data are read: by what is narrower for the most counts.
        Gaussian noise gets the ρ that the selection leaves of the whole run's (ε, δ).
        """
        cost = choice.zcdp
        selection = Amount(choice.epsilon, choice.delta, cost.rho, cost.delta)
        if not epsilon:
            return cls(selection, None, selection, rounds)
        laplace = DiscreteLaplace(epsilon)
        noise = narrower(laplace, _gaussian(choice, epsilon, delta), most)
        both = cost + noise.zcdp
        basic = (selection.epsilon + epsilon, selection.delta if noise is laplace else delta)
        return cls(selection, noise, Amount(*basic, both.rho, both.delta), rounds)

    def to_dict(self) -> Document:
        """JSON-ready."""
        selection = self.selection.to_dict()
        return {"selection": selection, "supports": self.supports and self.supports.to_dict(), "rounds": self.rounds}

    def __str__(self) -> str:
        if self.supports is None:
            return f"selection: {self.rounds}"
        return f"selection {self.selection.shown(Accounting.BASIC, decimal)} ({self.rounds}); supports {self.supports}"


def _gaussian(choice: Guarantee, epsilon: Fraction, delta: Fraction) -> DiscreteGaussian | None:
    """Noise for the ρ that the selection leaves of (ε, δ); None where it leaves none, or nothing is guaranteed."""
    cost = choice.zcdp
    if cost.delta >= delta or not choice.private:
        return None
    rho = rho_at(choice.epsilon + epsilon, delta - cost.delta) - cost.rho
    return DiscreteGaussian(decimal_below(rho, _DIGITS)) if rho > 0 else None
