"""What users hand over, as columns: files, Arrow, frames and Python values; and files written atomically."""
