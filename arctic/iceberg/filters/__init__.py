"""Row filters of callers, in every form they may have, as tests of a table's columns."""
