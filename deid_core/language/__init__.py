"""What is known about text and English."""
