-- Finds the removed applications among all changes.
CREATE INDEX audit_events_removed ON audit_events (id) WHERE action = 'application removed';
