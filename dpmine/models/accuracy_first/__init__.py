"""Accuracy first: the least privacy loss that reaches a target excess risk, charged after the fact."""
