"""A gallery of mechanisms, broken and sound, written by others than the audit: what it must refute, and must not."""
