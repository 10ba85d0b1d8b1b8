"""Watching a running phistream: metrics, watch, status, doctor and reconcile."""
