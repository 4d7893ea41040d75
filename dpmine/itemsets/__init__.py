"""Transactions about people and the supports of the itemsets in them."""
