"""Stage intake: `hl7.raw` in; `notes` and `patients` out.  Start at `processor`."""
