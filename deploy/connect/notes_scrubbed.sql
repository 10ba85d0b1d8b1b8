-- The table of jdbc.json.  Nested values (offsets, source) have no column.
CREATE TABLE notes_scrubbed (
  note_id char(32) PRIMARY KEY,
  patient char(32) NOT NULL,
  key_id char(8) NOT NULL,
  note_type varchar(64) NOT NULL,
  written_at varchar(10),
  text text NOT NULL,
  preset text NOT NULL,
  policy text NOT NULL,
  "join" text NOT NULL
);
-- To erase a patient: DELETE FROM notes_scrubbed WHERE patient = ...
CREATE INDEX notes_scrubbed_patient ON notes_scrubbed (patient);
