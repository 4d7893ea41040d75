"""Suites that every implementation of a protocol passes."""
