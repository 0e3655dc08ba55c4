"""Tables that follow topics of Kafka."""
