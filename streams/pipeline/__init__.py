"""The path of a note: taken in, joined, scrubbed; in the stream and in files."""
