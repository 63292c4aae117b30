-- Before the other tables: a change by an operator locks this table first, too.
LOCK TABLE changes IN EXCLUSIVE MODE;

-- Finds the warnings that operators have acknowledged among all changes.
CREATE INDEX audit_events_acknowledged ON audit_events (id) WHERE action = 'warning acknowledged';
