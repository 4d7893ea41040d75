"""Batches of jobs: one job file in, one page out, with JSON and Parquet beside it."""
