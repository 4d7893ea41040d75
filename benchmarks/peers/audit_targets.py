"""Mechanisms of other libraries and their claims, for the audit: each is imported where its library is installed."""

from collections.abc import Callable
from typing import Any

SIGMA = 2.0


def _once(make: Callable[[], Any]) -> Callable[[Any], Any]:
    """A function that makes its mechanism at the first call."""
    made: list[Any] = []

    def run(data: Any) -> Any:
        if not made:
            made.append(make())
        return made[0](data)

    return run


def _opendp() -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    return dp


def make_noisy_max() -> Any:
    dp = _opendp()
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int)
    return dp.m.make_noisy_max(*space, dp.zero_concentrated_divergence(), scale=1.0)


def make_stable_histogram() -> Any:
    dp = _opendp()
    counts = dp.t.make_count_by(dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance())
    return counts >> dp.m.then_laplace_threshold(scale=1.0, threshold=5)


def noisy_max_claim() -> dict[str, float]:
    return {"rho": make_noisy_max().map(1)}


def stable_histogram_claim() -> dict[str, float]:
    epsilon, delta = make_stable_histogram().map(1)
    return {"epsilon": epsilon, "delta": delta}


noisy_max = _once(make_noisy_max)
stable_histogram = _once(make_stable_histogram)


def _diffprivlib(name: str, **options: Any) -> Callable[[Any], Any]:
    def make() -> Any:
        import diffprivlib.mechanisms

        return getattr(diffprivlib.mechanisms, name)(epsilon=1.0, **options).randomise

    return _once(make)


diffprivlib_geometric = _diffprivlib("Geometric", sensitivity=1)
diffprivlib_laplace = _diffprivlib("Laplace", sensitivity=1.0)


def geometric_count(rows: list[int]) -> int:
    return diffprivlib_geometric(sum(rows))


def laplace_sum(rows: list[float]) -> float:
    return diffprivlib_laplace(float(sum(rows)))


def exponential(scores: list[int]) -> int:
    from diffprivlib.mechanisms import Exponential

    return Exponential(epsilon=1.0, sensitivity=1.0, utility=[float(score) for score in scores]).randomise()


def gaussian_sum(rows: list[float]) -> float:
    import random

    return sum(rows) + random.gauss(0, SIGMA)


def gaussian_event() -> Any:
    import dp_accounting

    return dp_accounting.GaussianDpEvent(noise_multiplier=SIGMA)


def too_private_event() -> Any:
    import dp_accounting

    return dp_accounting.GaussianDpEvent(noise_multiplier=1.5 * SIGMA)
