"""A structured overlay: routers at identifiers on a circle, which find each other by themselves."""
