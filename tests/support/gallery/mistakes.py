"""Mechanisms that do not do what they claim: published mistakes, and the field's usual ones."""

from __future__ import annotations

import math
import random

from dpmine.auditing import Claim, CountTables, RowSets, ScoreVectors
from support.gallery.exhibit import CHANCE, Exhibit, geometric, laplace, largest, normal, permute_and_flip, weighted

BITS = RowSets([0, 1])
ADDED = RowSets([0, 1], "add_remove")
SCORES = ScoreVectors()
LABELS = CountTables(neighbors="add_remove", sparse=True)
EQUAL = [([0] * size, [1] * size) for size in (10, 5, 20)]
"""Queries that are all equal: the neighbours of the paper's counterexample."""
PURE = Claim(1)


def svt_releasing_values(scores: list[int]) -> list[float | None]:
    limit = laplace(2)
    answers: list[float | None] = []
    for score in scores:
        noisy = score + laplace(2)
        answers.append(round(noisy, 1) if noisy >= limit else None)
        if answers[-1] is not None:
            break
    return answers


def svt_small_noise(scores: list[int]) -> list[bool]:
    """With c = 3 it is (1 + 6c)/4 = 4.75 times over its budget."""
    limit, answers = laplace(4), []
    for score in scores:
        answers.append(score + laplace(4 / 3) >= limit)
        if sum(answers) == 3:
            break
    return answers


def svt_exact_queries(scores: list[int]) -> list[bool]:
    limit = laplace(2)
    return [score >= limit for score in scores]


def svt_endless(scores: list[int]) -> list[bool]:
    limit = laplace(2)
    return [score + laplace(2) >= limit for score in scores]


def max_and_its_value(scores: list[int]) -> tuple[int, int]:
    noisy = [score + laplace(2) for score in scores]
    return largest(noisy), round(max(noisy))


def max_half_noise(scores: list[int]) -> int:
    return largest([score + laplace(1) for score in scores])


def one_shot_pairs(scores: list[int]) -> tuple[int, ...]:
    noisy = [score + CHANCE.expovariate(0.5) for score in scores]
    return tuple(sorted(range(len(noisy)), key=noisy.__getitem__)[-2:])


def exponential_of_counts(scores: list[int]) -> int:
    return weighted(scores, 1)


def exponential_without_ties(scores: list[int]) -> int:
    levels = sorted(set(scores))
    best = levels[weighted(levels, 0.5)]
    return CHANCE.choice([place for place, score in enumerate(scores) if score == best])


def exponential_of_shares(scores: list[int]) -> int:
    """Scores are divided by the largest, a number of the data, and the sensitivity is taken for a quarter."""
    top = max(map(abs, scores)) or 1
    return CHANCE.choices(range(len(scores)), [math.exp(2 * score / top) for score in scores])[0]


def flipped_concentrated(scores: list[int]) -> int:
    return permute_and_flip(scores, 0.5)


def textbook_laplace(rows: list[float]) -> float:
    u = CHANCE.random() - 0.5
    return sum(rows) - math.copysign(1, u) * math.log(1 - 2 * abs(u) or 2.0**-53)


def float_gaussian(rows: list[float]) -> float:
    return sum(rows) + CHANCE.gauss(0, 2)


def coarse_laplace(rows: list[float]) -> float:
    """The uniform number has eight bits."""
    u = (CHANCE.randrange(256) + 0.5) / 256 - 0.5
    return sum(rows) - math.copysign(1, u) * math.log(1 - 2 * abs(u))


def truncated(rows: list[int]) -> int:
    while abs(noise := geometric(1)) > 3:
        pass
    return sum(rows) + noise


def clamped_to_rows(rows: list[int]) -> int:
    """No count is above the number of rows, which is private."""
    return min(len(rows), max(0, sum(rows) + geometric(1)))


def wide_sum(rows: list[int]) -> int:
    return sum(rows) + geometric(1)


def mean_of_rows(rows: list[int]) -> float:
    return round(sum(rows) / len(rows) + laplace(1 / len(rows)), 2)


def pure_gaussian(rows: list[int]) -> int:
    """Calibrated to δ = 1/4."""
    return sum(rows) + normal(math.sqrt(2 * math.log(5)))


def pure_stable_histogram(table: dict[str, int]) -> dict[str, int]:
    noisy = {label: count + geometric(1) for label, count in table.items()}
    return {label: count for label, count in noisy.items() if count >= 5}


def thresholded_at_the_edge(table: dict[str, int]) -> dict[str, int]:
    """δ = Pr[1 + noise > 5] is claimed, and labels are released at 5."""
    return pure_stable_histogram(table)


def unthresholded(table: dict[str, int]) -> dict[str, int]:
    return {label: count + geometric(1) for label, count in table.items()}


def redrawn(rows: list[int]) -> int:
    while (noisy := sum(rows) + geometric(1)) < 0:
        pass
    return noisy


def stopping_early(rows: list[int]) -> int:
    """Noise is added step by step, until the exact count is reached."""
    steps, total = 0, 0.0
    while total < sum(rows):
        total += CHANCE.random()
        steps += 1
    return steps


def shared_noise(counts: list[int]) -> list[int]:
    noise = geometric(1)
    return [count + noise for count in counts]


def seeded_noise(rows: list[int]) -> int:
    chance = random.Random(repr(rows))
    return sum(rows) + int(chance.expovariate(1)) - int(chance.expovariate(1))


def two_flipped_bits(rows: list[int]) -> list[int]:
    """One-hot answers of the last row: two bits differ, and each has the noise for one."""
    bits = [int(rows[-1] == value) for value in range(3)]
    return [bit if CHANCE.random() < math.e / (1 + math.e) else 1 - bit for bit in bits]


def half_sampled(rows: list[int]) -> int:
    return sum(row for row in rows if CHANCE.random() < 0.5) + geometric(1)


def local_sensitivity_median(rows: list[int]) -> int:
    """The noise fits how far this median can move, which is private."""
    ordered = sorted(rows)
    middle = len(ordered) // 2
    reach = max(ordered[min(middle + 1, len(ordered) - 1)] - ordered[middle], ordered[middle] - ordered[middle - 1])
    return ordered[middle] + (geometric(1 / reach) if reach > 0 else 0)


def bounded_by_data(rows: list[float]) -> float:
    """Rows are divided by the largest of them, as if the unit could not move that."""
    top = max(map(abs, rows)) or 1.0
    return round(top * (sum(row / top for row in rows) / len(rows) + laplace(1 / len(rows))), 1)


LYU = "Lyu, Su & Li 2017, Figure 1: Algorithm"
BROKEN = [
    Exhibit("sparse vector that releases values", svt_releasing_values, PURE, EQUAL, f"{LYU} 3"),
    Exhibit("sparse vector with too little noise", svt_small_noise, PURE, SCORES, f"{LYU} 4"),
    Exhibit("sparse vector of exact queries", svt_exact_queries, PURE, SCORES, f"{LYU} 5"),
    Exhibit("sparse vector without an end", svt_endless, PURE, SCORES, f"{LYU} 6"),
    Exhibit("noisy max with its noisy value", max_and_its_value, PURE, SCORES, "the winner's noise is used again"),
    Exhibit("noisy max with half the noise", max_half_noise, PURE, SCORES, "noise for scores that move together"),
    Exhibit("two largest for the budget of one", one_shot_pairs, PURE, SCORES, "one budget for two choices"),
    Exhibit("exponential mechanism of counts", exponential_of_counts, PURE, SCORES, "scores do not move together"),
    Exhibit("exponential mechanism without ties", exponential_without_ties, PURE, SCORES, "equal scores weigh once"),
    Exhibit("exponential mechanism of shares", exponential_of_shares, PURE, SCORES, "sensitivity from the data"),
    Exhibit(
        "permute-and-flip under zCDP",
        flipped_concentrated,
        Claim(rho="1/8"),
        SCORES,
        "ρ of the exponential mechanism: OpenDP's issue 2911",
    ),
    Exhibit("textbook Laplace noise", textbook_laplace, PURE, RowSets([0.0, 1.0]), "Mironov 2012"),
    Exhibit("Gaussian noise of floats", float_gaussian, Claim(rho="1/8"), RowSets([0.0, 1.0]), "as above"),
    Exhibit("Laplace noise of eight bits", coarse_laplace, PURE, RowSets([0.0, 1.0]), "gaps between outcomes"),
    Exhibit("truncated noise", truncated, PURE, BITS, "outcomes that only one side has"),
    Exhibit("count clamped to the rows", clamped_to_rows, PURE, ADDED, "a private number bounds the outcome"),
    Exhibit("wrong sensitivity", wide_sum, PURE, RowSets([0, 3]), "rows of 3 with the noise for 1"),
    Exhibit("mean by a private number", mean_of_rows, PURE, ADDED, "an error without rows; noise of private scale"),
    Exhibit("Gaussian noise as pure", pure_gaussian, PURE, BITS, "δ forgotten"),
    Exhibit("stable histogram as pure", pure_stable_histogram, PURE, LABELS, "δ forgotten"),
    Exhibit(
        "threshold at the edge",
        thresholded_at_the_edge,
        Claim(1, "0.00493"),
        LABELS,
        "δ without the threshold itself: OpenDP's issue 2922",
    ),
    Exhibit("histogram without a threshold", unthresholded, PURE, LABELS, "labels of one unit appear"),
    Exhibit("noise redrawn below 0", redrawn, PURE, BITS, "the probability of a redraw is private"),
    Exhibit("early stopping", stopping_early, PURE, BITS, "the number of steps is private"),
    Exhibit("one noise for all counts", shared_noise, PURE, CountTables(neighbors="add_remove"), "noise used again"),
    Exhibit("noise seeded by the data", seeded_noise, PURE, BITS, "the outcome is a function of the data"),
    Exhibit("one-hot answers", two_flipped_bits, PURE, RowSets([0, 1, 2]), "two bits differ, each with noise for one"),
    Exhibit("half of the rows for half of ε", half_sampled, Claim("0.5"), ADDED, "sampling gains less"),
    Exhibit("noise of local sensitivity", local_sensitivity_median, PURE, RowSets([0, 1, 9]), "its scale is private"),
    Exhibit("rows bounded by the data", bounded_by_data, PURE, RowSets([0.0, 1.0, 50.0]), "sensitivity from the data"),
]
