"""`phistream map`: which fields of JSON events are those of a note."""
