"""What sources that are made of another have in common: all that they do not change is the other's."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dpmine.io.source import Source

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class WrappedSource(Source):
    """Another source, seen differently.

    Attributes:
        inner: the other source.
    """

    inner: Source

    def _needed(self, names: Sequence[str]) -> list[str]:
        """The columns of the other source that these are read of."""
        raise NotImplementedError

    @property
    def rows(self) -> int | None:
        """See `Source.rows`."""
        return self.inner.rows

    @property
    def repeatable(self) -> bool:
        """See `Source.repeatable`."""
        return self.inner.repeatable

    @property
    def objects(self) -> frozenset[str]:
        """See `Source.objects`."""
        return self.inner.objects

    @property
    def header_hint(self) -> str | None:  # type: ignore[override]
        """See `Source.header_hint`."""
        return self.inner.header_hint

    def share(self, done: int) -> float | None:
        """See `Source.share`."""
        return self.inner.share(done)

    def type_of(self, name: str) -> pa.DataType:
        """See `Source.type_of`."""
        return self.inner.type_of(name)

    def labels(self, names: Sequence[str]) -> pa.Array:
        """See `Source.labels`."""
        return self.inner.labels(names)

    def as_numbers(self, names: Sequence[str]) -> Self:
        """See `Source.as_numbers`."""
        return replace(self, inner=self.inner.as_numbers(names))

    def as_flags(self, names: Sequence[str]) -> Self:
        """See `Source.as_flags`."""
        return replace(self, inner=self.inner.as_flags(names))

    def strict(self) -> Self:
        """See `Source.strict`."""
        return replace(self, inner=self.inner.strict())

    def cautions(self, names: Sequence[str]) -> tuple[str, ...]:
        """See `Source.cautions`."""
        return self.inner.cautions(self._needed(names))

    def require_room(self, names: Sequence[str], limit: int) -> None:
        """See `Source.require_room`."""
        self.inner.require_room(self._needed(names), limit)
