"""What a call does from beginning to end: reads, writes, upkeep, mirrors, with Spark or without."""
