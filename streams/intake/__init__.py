"""hl7.raw in; `notes` and `patients` out.  `processor.py` is read first."""
