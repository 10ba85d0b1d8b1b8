"""Presets of the published systems, registered by entry point."""
