-- Finds the warnings that operators have acknowledged among all changes.
CREATE INDEX audit_events_acknowledged ON audit_events (id) WHERE action = 'warning acknowledged';
