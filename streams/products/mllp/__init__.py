"""The MLLP listener: messages from the hospital's interfaces to `hl7.raw`."""
