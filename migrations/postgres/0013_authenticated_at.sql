-- Before the other tables: a change by an operator locks this table first, too. Checks go on.
LOCK TABLE changes IN EXCLUSIVE MODE;

-- When the operator of a session proved who it is: opened a link, or authenticated at the identity provider. NULL: the provider
-- does not say, or an older program began the session.
ALTER TABLE sessions ADD COLUMN authenticated_at bigint;
