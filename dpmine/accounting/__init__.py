"""A durable budget: what was granted, what was spent, and who may still spend."""
