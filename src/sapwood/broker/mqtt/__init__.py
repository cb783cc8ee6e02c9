"""The MQTT listener of a broker: clients of MQTT 5 are clients of the broker."""
