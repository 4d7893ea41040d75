"""What the tests of pages share: snippets, the notebook, and words."""
