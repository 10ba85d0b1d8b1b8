"""Gold corpora: annotated documents, their conventions, readers and writers."""
