-- The last sign-in with the identity provider that gave no role, for doctor: one row at most.
CREATE TABLE refused_sign_in (
  id  INTEGER PRIMARY KEY CHECK (id = 1),
  at  INTEGER NOT NULL,
  why TEXT    NOT NULL
) STRICT;
