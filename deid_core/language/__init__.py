"""Knowledge about text and English."""
