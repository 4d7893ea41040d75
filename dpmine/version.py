"""The version. Stands alone: modules take it from here, because `dpmine` itself would be a circle."""

__version__ = "1.0.0rc1"
