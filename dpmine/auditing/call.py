"""The entry point of all audits: dpmine's own mechanisms by name, and any other code that chooses or adds noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from dpmine.auditing import run
from dpmine.auditing.targets.claims import Claim
from dpmine.auditing.targets.comparison import Budget, HasLaw, compare_laws, compare_runs
from dpmine.auditing.targets.neighbours import Family, Sides, as_family
from dpmine.auditing.targets.sampling import Batch
from dpmine.errors import BadParameter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dpmine.auditing.audit_report import AuditReport
    from dpmine.auditing.targets.sampling import Runs
    from dpmine.auditing.targets.target_report import TargetReport
    from dpmine.parameters import Number


@overload
def audit(
    mechanism: str | None = None,
    *,
    epsilon: Number = 1,
    delta: Number = 1e-6,
    thorough: bool = False,
    lists: bool = False,
    progress: Callable[[float], None] | None = None,
) -> AuditReport: ...


@overload
def audit(
    mechanism: Runs | HasLaw,
    claim: Claim | str,
    neighbors: Family | Iterable[Sides],
    *,
    confidence: Number = "0.999",
    seconds: Number = 60,
    samples: int = 100_000,
    pairs: int = 500,
    steps: int = 40,
    seed: int = 0,
    float_bits: bool = True,
) -> TargetReport: ...


def audit(
    mechanism: str | Runs | HasLaw | None = None,
    claim: Claim | str | None = None,
    neighbors: Family | Iterable[Sides] | None = None,
    **options: Any,
) -> AuditReport | TargetReport:
    """Measured privacy against claimed privacy: of dpmine's own mechanisms, or of code of yours.

    **Without arguments, or with a name**, the mechanisms of dpmine are audited from their exact output distributions.
    They claim `epsilon` and `delta`. With `thorough` more pairs of neighbours are tried, with `lists` whole lists of 2
    and 3 are audited. `progress` is called with the share that is done.

    **With a mechanism, a claim and neighbours**, that mechanism is audited:

    Args:
        mechanism: a function from a data set to an outcome. Or an object with `law(data)`, which returns a mapping from
            outcomes to probabilities or a `dpmine.Law`. Or one with `sample(data, count)`, which returns a list of
            outcomes. `law` is preferred to runs.
        claim: a `Claim`, or a text such as "epsilon=1, delta=1e-6" or "rho=1/8".
        neighbors: `ScoreVectors`, `CountTables` or `RowSets`, or any iterable of pairs (before, after). Use invented
            data: the report prints the worst pair.
        confidence: the probability, at least, that a true claim is not refuted, when the mechanism is run.
        seconds: the time to take. A run that lasts longer than this is not interrupted.
        samples: runs on each side for the last measurement.
        pairs: structured pairs of neighbours to try at most.
        steps: changes tried in each of three climbs from the worst of them.
        seed: of the search. With `law`, the same seed gives the same report unless the time ends the search.
        float_bits: whether to look at the lowest bits of floats. Noise of numpy or of `random` leaks there (Mironov
            2012): without them, only the size of its noise is tested.
        **options: all of these after `neighbors`, by name.

    A refuted claim is false, except with probability 1 − `confidence`. With `law` that is certain, if each probability
    is right within a relative error of 1e-9 or an absolute one of 1e-14. A claim that is not refuted is not proved.
    Requires: runs are independent of each other.

    Raises BadParameter for unusable parameters, NotPrivate for the mechanism "exact".

    Example:
        >>> audit("exponential", epsilon="1/2").holds
        True
        >>> class Flipped:
        ...     def law(self, rows):
        ...         return {rows[0]: 0.9, 1 - rows[0]: 0.1}
        >>> print(audit(Flipped(), "epsilon=2", [([0], [1])]).verdict)
        refuted

    See Also:
        dpmine.auditing.epsilon_lower_bound: of one pair, by runs alone.
        dpmine.law: the output distribution of a mechanism on scores of your own.
    """
    if mechanism is None or isinstance(mechanism, str):
        if claim is not None or neighbors is not None:
            raise BadParameter("A claim and neighbours are for mechanisms of your own: give a function, not a name.")
        return run.audit(mechanism, **options)
    if claim is None or neighbors is None:
        raise BadParameter("To audit a function, give a claim and neighbours: audit(f, 'epsilon=1', ScoreVectors()).")
    stated, family = Claim.parse(claim) if isinstance(claim, str) else claim, as_family(neighbors)
    budget = Budget(**options)
    if not isinstance(stated, Claim):
        raise BadParameter("claim must be a Claim, such as Claim(epsilon=1), or a text such as 'epsilon=1'.")
    if isinstance(mechanism, HasLaw):
        return compare_laws(mechanism, stated, family, budget)
    if not (callable(mechanism) or isinstance(mechanism, Batch)):
        raise BadParameter("A mechanism is a function of a data set, or has a method `law` or `sample`.")
    return compare_runs(mechanism, stated, family, budget)
