-- The last sign-in with the identity provider that gave no role, for doctor: one row at most.
CREATE TABLE refused_sign_in (
  id  smallint PRIMARY KEY CHECK (id = 1),
  at  bigint   NOT NULL,
  why text     NOT NULL
);
