"""Which files a scan reads at all, and which deletes apply to each."""
