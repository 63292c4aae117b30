-- Before the other tables: a change by an operator locks this table first, too.
LOCK TABLE changes IN EXCLUSIVE MODE;

-- Finds the removed applications among all changes.
CREATE INDEX audit_events_removed ON audit_events (id) WHERE action = 'application removed';
