-- The last refused requests and checks of tokens, one by one: for people who look for a request id, or want to see what happens.
-- Written in the background. Rows are in the order of their ids; the oldest are deleted: of clients that were registered
-- (is_known), and of other callers.
CREATE TABLE refused_requests (
  id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at             bigint NOT NULL,
  request_id     text COLLATE "C" NOT NULL,
  reason         text COLLATE "C" NOT NULL,
  endpoint       text COLLATE "C" NOT NULL,
  client_id      text COLLATE "C",
  suite          text COLLATE "C",
  remote_address text COLLATE "C" NOT NULL,
  is_known       bigint NOT NULL
);

CREATE INDEX refused_requests_by_request_id ON refused_requests (request_id);
CREATE INDEX refused_requests_by_known ON refused_requests (is_known, id);
