-- The address from which a secret was last used. from_at: when that was. It is before last_used_at if a program of 1.0.0, which
-- does not know the address, has stored a later use.
ALTER TABLE secret_uses ADD COLUMN last_used_from TEXT;
ALTER TABLE secret_uses ADD COLUMN from_at INTEGER;
