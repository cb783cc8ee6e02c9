"""The format `sapwood` of Spark: read what brokers have accepted, publish what a query gives."""
