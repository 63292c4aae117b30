-- The oldest version of the program (package.json) that may run on this schema. One row. A program that does not know the
-- newest migrations runs nevertheless if it is as new as that. A migration that takes away what older programs need says so:
-- UPDATE compatibility SET oldest_program = '0.3.0';
-- Programs from before this table refuse every newer schema.
CREATE TABLE compatibility (
  oldest_program TEXT NOT NULL
) STRICT;

INSERT INTO compatibility (oldest_program) VALUES ('0.1.0');
