"""`phistream doctor`: checks of everything a start depends on; see `checks`."""
