-- The last refused requests and checks of tokens, one by one: for people who look for a request id, or want to see what happens.
-- Written in the background. Rows are in the order of their ids; the oldest are deleted: of clients that were registered
-- (is_known), and of other callers.
CREATE TABLE refused_requests (
  id             INTEGER PRIMARY KEY,
  at             INTEGER NOT NULL,
  request_id     TEXT    NOT NULL,
  reason         TEXT    NOT NULL,
  endpoint       TEXT    NOT NULL,
  client_id      TEXT,
  suite          TEXT,
  remote_address TEXT    NOT NULL,
  is_known       INTEGER NOT NULL
) STRICT;

CREATE INDEX refused_requests_by_request_id ON refused_requests (request_id);
CREATE INDEX refused_requests_by_known ON refused_requests (is_known, id);
