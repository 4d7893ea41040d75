"""The losses are what their constants say."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx
from models.linear.data import LOSSES, loss_value
from support.cases import every

from dpmine.models.linear.losses import CappedLogisticLoss, HuberLoss, LogisticLoss, ramp

MARGINS = np.concatenate([np.linspace(-4, 4, 1601), [-1e300, -800, 800, 1e300]])


@pytest.mark.parametrize("loss", LOSSES)
def test_derivative_is_bounded_and_smooth(loss: Any) -> None:
    slopes = loss.derivative(MARGINS[:-4])
    assert ((slopes >= -1) & (slopes <= 0)).all()
    steps = np.diff(slopes) / np.diff(MARGINS[:-4])
    assert (steps >= -1e-12).all()  # convex
    assert steps.max() <= float(loss.smoothness) * (1 + 1e-9)
    assert steps.max() >= float(loss.smoothness) * 0.999  # and no smaller constant would do


@pytest.mark.parametrize("loss", LOSSES)
def test_value_and_curvature_belong_to_the_derivative(loss: Any) -> None:
    z = np.linspace(-3, 3, 601) + 1e-4
    step = 1e-6
    slope = (loss_value(loss, z + step) - loss_value(loss, z - step)) / (2 * step)
    assert np.allclose(slope, loss.derivative(z), atol=1e-5)
    bend = (loss.derivative(z + step) - loss.derivative(z - step)) / (2 * step)
    assert np.allclose(bend, loss.curvature(z), atol=1e-3 * float(loss.smoothness))


@pytest.mark.parametrize("loss", [LogisticLoss(), CappedLogisticLoss()])
def test_logistic_derivatives_are_as_exact_as_they_say(loss: Any) -> None:
    before, ctx.prec = ctx.prec, 200
    try:
        exact = [-1 / (1 + arb(float(z)).exp()) for z in MARGINS]
        if isinstance(loss, CappedLogisticLoss):
            exact = [2 * slope if z > 0 else arb(-1) for z, slope in zip(MARGINS, exact, strict=True)]
        found = loss.derivative(MARGINS)
        assert max(abs(float(arb(float(a)) - b)) for a, b in zip(found, exact, strict=True)) <= loss.rounding
    finally:
        ctx.prec = before


@every("width", ["50", "0.5", "0.01", "0.0037", "0.001"])
def test_huber_derivative_is_as_exact_as_it_says(width: str) -> None:
    """Beside exact rationals, over the rounded corner and its ends; and no bound without 1/h would do."""
    h = Fraction(width)
    margins = 1 + float(h) * np.linspace(-1.01, 1.01, 3001)
    exact = [-min(Fraction(1), max(Fraction(0), (1 + h - Fraction(float(z))) / (2 * h))) for z in margins]
    found = HuberLoss(h).derivative(margins)
    worst = float(max(abs(Fraction(float(a)) - b) for a, b in zip(found, exact, strict=True)))
    assert worst <= HuberLoss(h).rounding
    assert (worst > LogisticLoss().rounding) == (h < Fraction(1, 200))


def test_ramp() -> None:
    assert ramp(np.array([-2.0, 0.0, 0.25, 1.0, 5.0])).tolist() == [1, 1, 0.75, 0, 0]
