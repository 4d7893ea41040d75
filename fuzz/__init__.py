"""Fuzzing: targets that take bytes, a guided runner (atheris) and forked workers for mutated Parquet files."""
