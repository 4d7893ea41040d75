"""Infinite classes of hypotheses, and their covers: by a reference distribution, or by a sample."""
