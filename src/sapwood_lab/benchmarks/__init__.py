"""What `sapwood bench` measures: one module a subject, each returning plain data."""
