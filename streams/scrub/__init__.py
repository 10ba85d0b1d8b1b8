"""Stage scrub: `notes` in; `notes.scrubbed` and `phi.audit` out.  See `processor`."""
