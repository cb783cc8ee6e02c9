"""The format `sapwood` of Spark: reads accepted publications, publishes the rows of a query."""
