"""The registry of the forms of files, asked: which form a name, an ending or a beginning says."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from dpmine.options.names import FORMS, PARQUET
from dpmine.parameters import one_of

if TYPE_CHECKING:
    from dpmine.options.names import Form

ENDINGS = tuple(chain.from_iterable(form.endings for form in FORMS))
"""Of the names of all files that can be read."""
MAGIC_LENGTH = 4


def named_form(name: str) -> Form:
    """The form that an option names; BadParameter for another name."""
    chosen = one_of("input_format", name, [form.name for form in FORMS])
    return next(form for form in FORMS if form.name == chosen)


def form_of(path: str, unknown: Form = PARQUET) -> Form:
    """The form that the ending of a name says; `unknown` where it says none."""
    name = (path.partition("?")[0] if "://" in path else path).lower()
    return next((form for form in FORMS if name.endswith(form.endings)), unknown)


def form_beginning(content: bytes) -> Form | None:
    """The form whose files begin so; None for text."""
    return next((form for form in FORMS if content[:MAGIC_LENGTH] in form.magic), None)
