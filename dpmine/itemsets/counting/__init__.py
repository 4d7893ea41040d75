"""Exact supports in memory: the miner and its kernels."""
