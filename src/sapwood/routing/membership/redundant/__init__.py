"""Several trees for each source at once: a publication lost on one path still comes on another."""
