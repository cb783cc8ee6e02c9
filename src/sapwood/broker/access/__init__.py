"""Who may connect: identities, what shows them, and what becomes of those that are taken away."""
