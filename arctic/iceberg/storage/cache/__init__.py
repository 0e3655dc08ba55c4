"""Parts of data files that stay on this machine once they were fetched or written."""
