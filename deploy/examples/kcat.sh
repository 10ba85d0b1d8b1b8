#!/bin/sh
# What came out so far, one JSON line a note: kcat.sh HOST:PORT [TOPIC]
# Without isolation.level a reader also sees the copies of aborted transactions.
exec kcat -b "${1:?usage: kcat.sh HOST:PORT [TOPIC]}" -C -t "${2:-notes.scrubbed}" -X isolation.level=read_committed \
  -o beginning -e -q
