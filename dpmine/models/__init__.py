"""Estimators: what they share, and one folder per family."""
