"""Paper trading."""
