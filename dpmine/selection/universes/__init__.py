"""Candidates and their scores, behind one protocol."""
