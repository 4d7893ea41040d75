"""What was learnt, for people and files: weights of linear models, and chosen hypotheses, each with its guarantee."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


class LinearModel:
    """A fitted linear estimator: one weight a feature, the intercept last; with what a run has to say of it."""

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


class ChosenHypothesis:
    """A chosen hypothesis as a document."""

    def __init__(self, selector: Any) -> None:
        self._selector = selector

    @property
    def promise(self) -> str:
        """Mechanism and guarantee, in a line."""
        return f"{self._selector.mechanism_}; {self._selector.guarantee_}"

    @property
    def untold(self) -> list[str]:
        """What a run must say, and a file does not put before the user's eyes."""
        nothing = self._selector.hypothesis_ is None
        return [f"nothing stands out. {self._selector.advice_}", self.promise] if nothing else [self.promise]

    def to_json(self) -> str:
        """The model file's own object."""
        return str(self._selector.to_json())

    def to_arrow(self) -> Any:
        """One row: the rule, which class it predicts, and the guarantee in words; null when nothing stood out."""
        import pyarrow as pa

        chosen = self._selector.hypothesis_
        return pa.table(
            {
                "hypothesis": pa.array([None if chosen is None else str(chosen)], pa.string()),
                "predicts": [str(self._selector.classes_[1])],
                "guarantee": [self.promise],
            }
        )

    def __str__(self) -> str:
        chosen = self._selector.hypothesis_
        if chosen is None:
            return f"Nothing stands out.\n{self._selector.advice_}\n({self.promise})"
        label = getattr(self._selector, "label_", "y")
        return f"{label} = {self._selector.classes_[1]} where {chosen}\n({self.promise})"
