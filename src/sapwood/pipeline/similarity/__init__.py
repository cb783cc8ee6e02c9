"""Near pairs of a subscription set: `sapwood.similarity.near` on Spark."""
