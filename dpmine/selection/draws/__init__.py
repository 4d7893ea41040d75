"""The exact draws that mechanisms are made of."""
