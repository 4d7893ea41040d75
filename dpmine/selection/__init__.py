"""The private-maximisation engine: choose one of many scored candidates, whatever they are."""
