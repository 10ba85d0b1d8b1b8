"""The Kafka cluster: clients, topics, grants, offsets and lag; a local broker."""
