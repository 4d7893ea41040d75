"""dpmine toy."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpmine_cli.line import CommandLine


def toy(line: CommandLine) -> None:
    """Say what ε comes to under zCDP.

    Example: dpmine toy --epsilon 1
    """
    from fractions import Fraction

    from dpmine.parameters import positive
    from dpmine.privacy import Zcdp

    line.destination.write_text(f"ρ = {Zcdp.implied(positive('epsilon', line.epsilon), Fraction(0)).rho}")
