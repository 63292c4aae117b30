-- Before the other tables: a change by an operator locks this table first, too. Checks go on.
LOCK TABLE changes IN EXCLUSIVE MODE;

-- The email address of the operator who made a change, which stays when the operator is removed. NULL: none was known.
ALTER TABLE audit_events ADD COLUMN actor_email text COLLATE "C";

-- Operators from the identity provider have a # in their name. The last address of a removed one is in the event of the removal.
WITH known AS MATERIALIZED (
  SELECT actor AS name,
         coalesce((SELECT email FROM operators o WHERE o.name = actors.actor),
                  (SELECT removed.before::json ->> 'email'
                     FROM audit_events removed
                    WHERE removed.subject = actors.actor AND removed.action = 'operator removed'
                    ORDER BY removed.id DESC
                    LIMIT 1)) AS email
    FROM (SELECT DISTINCT actor FROM audit_events WHERE actor LIKE '%#%') actors)
UPDATE audit_events SET actor_email = known.email FROM known WHERE audit_events.actor = known.name;

-- The id, because events are listed in the order of ids.
CREATE INDEX audit_events_by_actor_email ON audit_events (actor_email, id) WHERE actor_email IS NOT NULL;
CREATE INDEX audit_events_by_request ON audit_events (request_id, id) WHERE request_id IS NOT NULL;
