"""Evidence: what a report rests on, in a folder that others can check without the data."""
