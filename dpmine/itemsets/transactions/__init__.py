"""What counting needs to know about the data."""
