"""What weights say of items' supports: much where supports are multiples of them, little where they are not."""

from __future__ import annotations

import numpy as np
import pytest

from dpmine.itemsets.best_first.counts import EVERYBODY, Answers, Centred, CountKind, Counts, Odd, Plain, Signed
from dpmine.itemsets.best_first.order import NoisyWeights, learn_from_weights

ITEMS, UNITS, DEVIATION = 60, 10_000, 100
SUPPORTS = list(range(1000, 1000 + 50 * ITEMS, 50))
SINGLES = [(item,) for item in range(ITEMS)]


def counts_of(kind: CountKind, items: int = ITEMS) -> Counts:
    """Of single items, with noise of deviation 100."""
    noise = np.random.default_rng(5)
    slope = 1 / dict(kind.terms((0,)))[0,]
    shift = -dict(kind.terms((0,))).get(EVERYBODY, 0.0) * slope * UNITS
    counts = Counts(
        kind,
        lambda itemset: round(shift + slope * SUPPORTS[itemset[0]]),
        lambda: round(noise.normal(scale=DEVIATION)),
        DEVIATION**2,
        items,
    )
    counts.answers[EVERYBODY] = Answers(1.0, UNITS, 1)
    for itemset in SINGLES[:items]:
        counts.ask(itemset)
    return counts


def error(counts: Counts) -> float:
    """Root mean square."""
    return float(np.sqrt(np.mean([(counts.support(each) - SUPPORTS[each[0]]) ** 2 for each in SINGLES])))


@pytest.mark.parametrize("kind", [Plain(), Odd(), Signed(), Centred()])
def test_supports_that_are_multiples_of_weights_become_better(kind: CountKind) -> None:
    counts = counts_of(kind)
    alone, of_counts = error(counts), [counts.counted(each) for each in SINGLES]
    learn_from_weights(counts, SINGLES, NoisyWeights([support / 3 for support in SUPPORTS], 1.0))
    assert error(counts) < 0.6 * alone
    assert [counts.counted(each) for each in SINGLES] == of_counts
    assert error(counts) == pytest.approx(counts.deviation(SINGLES[ITEMS // 2]), rel=0.5)


def test_weights_that_say_little_change_little() -> None:
    counts = counts_of(Plain())
    alone = error(counts)
    learn_from_weights(counts, SINGLES, NoisyWeights([500.0 + 100 * (item % 7) for item in range(ITEMS)], 1.0))
    assert error(counts) < 1.1 * alone
    assert counts.deviation((0,)) > 0.9 * DEVIATION


def test_few_items_are_not_compared() -> None:
    counts = counts_of(Plain(), 9)
    learn_from_weights(counts, SINGLES[:9], NoisyWeights([1.0] * 9, 1.0))
    assert all(answers.beside is None for answers in counts.answers.values())
