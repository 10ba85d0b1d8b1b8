"""`phistream status`: flow, lag, groups and dead letters in a terminal."""
