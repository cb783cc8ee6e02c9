"""A bridge to Kafka: topics into publications, and what a filter accepts into a topic.

Needs the extra `kafka` (confluent-kafka, which is librdkafka). Neither end knows of the other's
brokers more than any client does.
"""
