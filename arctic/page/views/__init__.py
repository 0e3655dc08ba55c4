"""Facts as drawings: what each part of a page shows, in places, lengths and words."""
