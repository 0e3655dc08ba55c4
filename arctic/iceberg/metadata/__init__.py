"""What the files of metadata hold, decoded: manifests, their bounds, sequences, ancestry."""
