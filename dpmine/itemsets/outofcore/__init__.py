"""Exact supports of data larger than the memory."""
