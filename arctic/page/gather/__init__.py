"""Facts of tables, found out by the verbs that anybody may call."""
