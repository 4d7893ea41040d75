"""The mechanisms, one per file."""
