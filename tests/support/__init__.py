"""Tapes, oracles, broken mechanisms and paths that the tests share."""
