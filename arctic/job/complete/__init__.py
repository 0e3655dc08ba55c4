"""When a span of event time is complete, so that whoever waits for it may begin."""
