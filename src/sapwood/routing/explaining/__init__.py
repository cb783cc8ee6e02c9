"""Reasons why a publication came to a subscription or did not, from routers' accounts."""
