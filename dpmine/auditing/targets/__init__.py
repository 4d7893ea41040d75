"""Mechanisms of others, as targets of an audit: what they claim, neighbours to try, and what their outcomes show."""
