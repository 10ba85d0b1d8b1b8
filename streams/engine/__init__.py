"""The engine: main loop, transactions, claims, limits and settings; without Kafka."""
