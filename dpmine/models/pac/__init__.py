"""Private PAC learning: a hypothesis out of a class, chosen privately, and how many records that takes."""
