"""One file for each kind of source: all are a `Source` (`dpmine/io/source.py`)."""
