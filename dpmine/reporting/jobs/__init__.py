"""Job files, and the kinds of jobs that they have."""
