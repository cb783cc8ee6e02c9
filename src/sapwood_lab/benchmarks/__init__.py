"""The measurements of `sapwood bench`: one module a subject, each returning plain data."""
