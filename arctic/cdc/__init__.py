"""Change events of databases, as rows that Arctic's writer takes."""
