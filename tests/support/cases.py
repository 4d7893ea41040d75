"""Many cases of one check in one test: thousands of tests of a millisecond each would cost more than what they check.

`every` stands where `pytest.mark.parametrize` would, and may be mixed with it. All cases are run, and each that fails
is a subtest of pytest with its own name; to report those that pass would take longer than to run most of them. Choose
`every` where a case takes less than about 50 ms, or where a quick run may try some cases only (`quick=20`). Choose
`pytest.mark.parametrize` where cases are long (workers share them out) or need fixtures of their own beyond `tmp_path`
and `monkeypatch`, which are fresh for each case here too.
"""

from __future__ import annotations

import functools
import inspect
from itertools import product
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from support.effort import PROFILE, SEED, Profile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Values = dict[str, Any]

OUTCOMES = (Exception, pytest.fail.Exception, pytest.skip.Exception)
"""How a case ends that did not pass; an interrupt ends the whole run."""


def every(
    names: str | tuple[str, ...], cases: Iterable[Any], *, quick: int | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a check for all values of the parameters `names`; several stand for all combinations, as usual.

    A full run tries all of them. With `quick`, given once for the test, a quick run tries as many, drawn by the seed.
    Where there are no cases, because the files that they are read from are missing, the test is skipped.
    """
    parameters = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    axis = [dict(zip(parameters, case if len(parameters) > 1 else [case], strict=True)) for case in cases]

    def decorate(check: Callable[..., None]) -> Callable[..., None]:
        if not axis:
            skipped: Callable[..., None] = pytest.mark.skip(reason="there are no cases")(_nothing(check))
            return skipped
        axes = [axis, *getattr(check, "axes", [])]
        return _in_one_test(getattr(check, "check", check), axes, quick or getattr(check, "quick", None))

    return decorate


def _nothing(check: Callable[..., None]) -> Callable[[], None]:
    """A test of the same name without parameters."""

    def test() -> None:
        pass

    test.__name__, test.__doc__, test.__module__ = check.__name__, check.__doc__, check.__module__
    return test


def _in_one_test(check: Callable[..., None], axes: list[list[Values]], quick: int | None) -> Callable[..., None]:
    signature = inspect.signature(check)
    given = {name for axis in axes for values in axis for name in values}
    fixtures = [parameter for name, parameter in signature.parameters.items() if name not in given]
    own = inspect.Parameter("subtests", inspect.Parameter.KEYWORD_ONLY)

    @functools.wraps(check, updated=())
    def test(*, subtests: pytest.Subtests, **shared: Any) -> None:
        for number, values in _tried(list(_combined(axes)), quick, check.__name__):
            try:
                with pytest.MonkeyPatch.context() as patch:
                    check(**_fresh(shared, number, patch), **values)
            except OUTCOMES:
                with subtests.test(_name(values)):
                    raise

    test.__signature__ = inspect.Signature([*fixtures, own])  # type: ignore[attr-defined]
    test.axes, test.check, test.quick = axes, check, quick  # type: ignore[attr-defined]
    test.pytestmark = list(getattr(check, "pytestmark", []))  # type: ignore[attr-defined]
    return test


def _combined(axes: list[list[Values]]) -> Iterator[Values]:
    for parts in product(*axes):
        yield {name: value for part in parts for name, value in part.items()}


def _tried(cases: list[Values], quick: int | None, name: str) -> list[tuple[int, Values]]:
    """The cases of this run, with their numbers."""
    numbered = list(enumerate(cases))
    if quick is None or quick >= len(cases) or PROFILE is Profile.FULL:
        return numbered
    return Random(f"{SEED} {name}").sample(numbered, quick)


def _fresh(shared: Values, number: int, patch: pytest.MonkeyPatch) -> Values:
    """The fixtures of one case."""
    own = dict(shared)
    if "monkeypatch" in own:
        own["monkeypatch"] = patch
    if "tmp_path" in own:
        own["tmp_path"] = Path(own["tmp_path"]) / str(number)
        own["tmp_path"].mkdir()
    return own


def _name(values: Values) -> str:
    shown = (f"{name}={getattr(value, '__name__', None) or repr(value)}" for name, value in values.items())
    return ", ".join(text if len(text) <= 120 else f"{text[:117]}..." for text in shown)
