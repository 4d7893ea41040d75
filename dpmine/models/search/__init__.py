"""Hyperparameter search around any private estimator."""
