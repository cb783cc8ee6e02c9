"""Results as files: what tasks write, and how it takes the place of what was there before."""
