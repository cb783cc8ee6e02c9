"""What a broker says by HTTP: its metrics, and whether it is well."""
