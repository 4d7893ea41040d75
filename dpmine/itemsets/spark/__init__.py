"""Exact supports on a Spark cluster."""
