"""Stability-based validation: the parameter of a private training procedure, chosen privately."""
