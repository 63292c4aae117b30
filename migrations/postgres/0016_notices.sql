-- What was posted, or will be, to the URL for notices. A matter is over if its newest row has the event 'ended'. due_at: from when
-- on it may be posted, or posted again; null if nothing is left to do.
CREATE TABLE notices (
  id         bigint PRIMARY KEY,
  matter     text COLLATE "C" NOT NULL,
  event      text COLLATE "C" NOT NULL,
  priority   bigint NOT NULL,
  stage      text COLLATE "C" NOT NULL,
  message_id text COLLATE "C" NOT NULL,
  body       text COLLATE "C" NOT NULL,
  at         bigint NOT NULL,
  seen_at    bigint NOT NULL,
  due_at     bigint,
  attempts   bigint NOT NULL,
  problem    text COLLATE "C",
  status     bigint,
  sent_at    bigint
);
