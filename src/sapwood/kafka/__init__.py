"""A bridge to Kafka: records of topics as publications, and deliveries as records of a topic.

Needs the extra `kafka` (confluent-kafka, which is librdkafka). For the brokers at either end, the
bridge is an ordinary client.
"""
