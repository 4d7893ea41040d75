"""What users may name, each described once: options, mechanisms and ways. Nothing here loads a library."""
