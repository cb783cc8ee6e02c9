"""Access control: identities, their credentials, and the end of connections of withdrawn ones."""
