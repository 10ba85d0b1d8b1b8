"""HL7 v2: from bytes to messages, demographics and narrative; without Kafka."""
