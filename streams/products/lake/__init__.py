"""Writes published topics into Apache Iceberg tables, each record exactly once."""
