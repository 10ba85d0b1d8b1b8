"""HL7 v2 in: from bytes to messages, demographics and narrative.  No Kafka here."""
