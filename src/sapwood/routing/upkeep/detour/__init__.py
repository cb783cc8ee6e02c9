"""Detours: messages for a link that is long down go round it, over other links to its other end."""
