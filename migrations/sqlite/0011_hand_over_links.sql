-- Unused hand-over links: each shows a new secret of its application once. Only the digest of the code is stored.
-- overlap_seconds: how long the other secrets stay valid after that.
CREATE TABLE hand_over_links (
  id              INTEGER PRIMARY KEY AUTOINCREMENT,
  application_id  INTEGER NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
  digest          TEXT    NOT NULL UNIQUE,
  made_by         TEXT    NOT NULL,
  created_at      INTEGER NOT NULL,
  ends_at         INTEGER NOT NULL,
  overlap_seconds INTEGER NOT NULL
) STRICT;

CREATE INDEX hand_over_links_by_application ON hand_over_links (application_id);

-- Apart from applications_as_json, which token requests read.
CREATE VIEW hand_over_links_as_json AS
SELECT a.client_id,
       (SELECT json_group_array(
                 json_object(
                   'id', h.id,
                   'madeBy', h.made_by,
                   'createdAt', h.created_at,
                   'endsAt', h.ends_at,
                   'overlapSeconds', h.overlap_seconds)
                 ORDER BY h.id)
          FROM hand_over_links h
         WHERE h.application_id = a.id) AS json
  FROM applications a;
