"""What is known about text itself; imports nothing above it."""
