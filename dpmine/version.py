"""The version. Stands alone: modules take it from here, because `dpmine` itself would be a circle."""

__version__ = "0.1.0"
