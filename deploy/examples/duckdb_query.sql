-- In the lake's folder: duckdb < duckdb_query.sql, or: python duckdb_query.py LAKE

-- Scrubbed notes by type, and of how many patients.
SELECT note_type, count(*) AS notes, count(DISTINCT patient) AS patients
FROM read_parquet('notes.scrubbed/*.parquet')
GROUP BY ALL ORDER BY ALL;

-- What was removed, by day and label.
SELECT date, found.label, count(*) AS removed, round(avg(found.score), 3) AS score
FROM (
    SELECT date, unnest(annotations) AS found
    FROM read_parquet('phi.audit/*/*.parquet', hive_partitioning = true)
)
GROUP BY ALL ORDER BY date, removed DESC;

-- What could not be processed, by day, stage and reason.
SELECT date, stage, code, count(*) AS dead_letters
FROM read_parquet('phi.audit/*/*.parquet', hive_partitioning = true)
WHERE outcome = 'dead_letter'
GROUP BY ALL ORDER BY ALL;
