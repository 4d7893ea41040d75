"""Linear models as documents: one weight a feature, the intercept last, then the guarantee."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


class LinearModel:
    """A fitted linear estimator, with what a run has to say of it."""

    def __init__(self, fitted: Any, *remarks: str) -> None:
        self._fitted = fitted
        self._remarks = remarks

    @property
    def told(self) -> str:
        """The guarantee, after the remarks."""
        return "; ".join([*self._remarks, str(self._fitted.guarantee_)])

    def to_json(self) -> str:
        """The model file's own object."""
        return str(self._fitted.to_json())

    def to_arrow(self) -> Any:
        """One row a coefficient, the intercept last; none where there is no model."""
        import pyarrow as pa

        weights = self._weights()
        return pa.table(
            {
                "feature": pa.array([name for name, _ in weights], pa.string()),
                "coefficient": pa.array([value for _, value in weights], pa.float64()),
            }
        )

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        for name, value in self._weights():
            yield f"{name}\t{value:.6g}"
        yield f"({self.told})"
        yield from (f"({note})" for note in self._fitted.guarantee_.notes)

    def _weights(self) -> list[tuple[str, float]]:
        if not hasattr(self._fitted, "coef_"):
            return []
        import numpy as np

        names = [*map(str, self._fitted.feature_names_in_), "(intercept)"]
        return list(zip(names, [*np.ravel(self._fitted.coef_), *np.ravel(self._fitted.intercept_)], strict=True))
