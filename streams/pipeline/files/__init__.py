"""Files of messages and notes: read, published on `hl7.raw`, or scrubbed directly."""
