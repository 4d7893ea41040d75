"""A durable budget: what was granted, what was spent, and what is left."""
