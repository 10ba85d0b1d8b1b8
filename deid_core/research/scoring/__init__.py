"""Gold corpora in, tables out: how well a system finds what it must."""
