"""Mechanisms that do what they claim: textbook ones, whose outcomes show no bits of floats."""

from __future__ import annotations

import math

from dpmine.auditing import Claim, CountTables, RowSets, ScoreVectors
from support.gallery.exhibit import CHANCE, Exhibit, geometric, laplace, largest, normal, permute_and_flip, weighted

BITS = RowSets([0, 1])
SCORES = ScoreVectors()
MONOTONE = ScoreVectors(neighbors="add_remove")


def randomised_response(rows: list[int]) -> list[int]:
    return [row if CHANCE.random() < 0.75 else 1 - row for row in rows]


def one_of_four(rows: list[int]) -> int:
    """k-ary randomised response of the last row, ε = 1."""
    others = [value for value in range(4) if value != rows[-1]]
    return rows[-1] if CHANCE.random() < math.e / (math.e + 3) else CHANCE.choice(others)


def geometric_count(rows: list[int]) -> int:
    return sum(rows) + geometric(1)


def clamped_count(rows: list[int]) -> int:
    return min(3, max(0, sum(rows) + geometric(1)))


def snapped_sum(rows: list[float]) -> float:
    """Laplace noise, rounded to the nearest quarter."""
    return round(4 * (sum(rows) + laplace(1))) / 4


def rounded_gaussian(rows: list[int]) -> int:
    """σ = 2: ρ = 1/8."""
    return sum(rows) + normal(2)


def exponential(scores: list[int]) -> int:
    return weighted(scores, 0.5)


def exponential_concentrated(scores: list[int]) -> int:
    """ε = 1: ρ = 1/8, because the loss has a range of ε."""
    return weighted(scores, 0.5)


def monotone_exponential(scores: list[int]) -> int:
    return weighted(scores, 1)


def flipped(scores: list[int]) -> int:
    return permute_and_flip(scores, 0.5)


def noisy_max(scores: list[int]) -> int:
    return largest([score + laplace(2) for score in scores])


def above_threshold(scores: list[int]) -> list[bool]:
    """Lyu, Su & Li 2017, Algorithm 1 with c = 1 and threshold 1."""
    limit, answers = 1 + laplace(2), []
    for score in scores:
        answers.append(score + laplace(4) >= limit)
        if answers[-1]:
            break
    return answers


def refreshed_threshold(scores: list[int]) -> list[bool]:
    """Lyu, Su & Li 2017, Algorithm 2 (Dwork & Roth), with c = 2 and threshold 1."""
    limit, answers = 1 + laplace(4), []
    for score in scores:
        answers.append(score + laplace(8) >= limit)
        if answers[-1]:
            limit = 1 + laplace(4)
        if sum(answers) == 2:
            break
    return answers


def stable_histogram(table: dict[str, int]) -> dict[str, int]:
    """Released from 5 on: δ = Pr[1 + noise ≥ 5] = e^−4/(1 + e^−1) = 0.0134 for a label that only one unit has."""
    noisy = {label: count + geometric(1) for label, count in table.items()}
    return {label: count for label, count in noisy.items() if count >= 5}


SOUND = [
    Exhibit("randomised response", randomised_response, Claim("1.0987"), BITS),
    Exhibit("randomised response of four", one_of_four, Claim(1), RowSets([0, 1, 2, 3])),
    Exhibit("geometric noise", geometric_count, Claim(1), BITS),
    Exhibit("clamped geometric noise", clamped_count, Claim(1), BITS),
    Exhibit("Laplace noise on a grid", snapped_sum, Claim(1), RowSets([0.0, 1.0, 0.5])),
    Exhibit("Gaussian noise, rounded", rounded_gaussian, Claim(rho="1/8"), BITS),
    Exhibit("exponential mechanism", exponential, Claim(1), SCORES),
    Exhibit("exponential mechanism under zCDP", exponential_concentrated, Claim(rho="1/8"), SCORES),
    Exhibit("exponential mechanism of counts", monotone_exponential, Claim(1), MONOTONE),
    Exhibit("permute-and-flip", flipped, Claim(1), SCORES),
    Exhibit("report noisy max", noisy_max, Claim(1), SCORES),
    Exhibit("sparse vector, Algorithm 1", above_threshold, Claim(1), SCORES),
    Exhibit("sparse vector, Algorithm 2", refreshed_threshold, Claim(1), SCORES),
    Exhibit("stable histogram", stable_histogram, Claim(1, "0.0134"), CountTables(neighbors="add_remove", sparse=True)),
]
