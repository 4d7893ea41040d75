"""What is asked of a run, checked before any data are read, and what is advised."""
