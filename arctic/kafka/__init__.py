"""Kafka: its topics, and the messages of their partitions in order."""
