"""One read: pinned, listed and planned here, carried out wherever its groups are sent."""
