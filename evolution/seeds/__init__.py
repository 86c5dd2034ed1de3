"""Placeholder face."""
