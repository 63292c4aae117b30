-- When the operator of a session proved who it is: opened a link, or authenticated at the identity provider. NULL: the provider
-- does not say, or an older program began the session.
ALTER TABLE sessions ADD COLUMN authenticated_at INTEGER;
