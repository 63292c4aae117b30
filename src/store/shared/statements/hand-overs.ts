// Hand-over links. The view is in views.sql of either folder in migrations/.

// Read before and after a change, for the audit trail.
export const readHandOverLinks = `
  SELECT client_id, json FROM hand_over_links_as_json WHERE client_id IN (SELECT value FROM texts_of($1))`

export const listHandOverLinks = 'SELECT json FROM hand_over_links_as_json WHERE client_id = $1'

export const findHandOverLink = `
  SELECT h.made_by, h.overlap_seconds, a.client_id, a.name, a.status
    FROM hand_over_links h
    JOIN applications a ON a.id = h.application_id
   WHERE h.digest = $1`

export const insertHandOverLink = `
  INSERT INTO hand_over_links (application_id, digest, made_by, created_at, ends_at, overlap_seconds)
  SELECT id, $2, $3, $4, $5, $6 FROM applications WHERE client_id = $1
  RETURNING id`

export const withdrawHandOverLink = `
  DELETE FROM hand_over_links WHERE id = $2 AND application_id = (SELECT id FROM applications WHERE client_id = $1)`

// Links made by an operator whose role is not this one. For commands, `made_by` is a user of the machine, who need not be an
// operator.
export const deleteHandOverLinksOf = `
  DELETE FROM hand_over_links WHERE made_by = $1 AND EXISTS (SELECT 1 FROM operators WHERE name = $1 AND role <> $2)`

export const deleteHandOverLinksFor = `
  DELETE FROM hand_over_links WHERE application_id = (SELECT id FROM applications WHERE client_id = $1)`

// Of two concurrent uses of one link, the second one waits for the lock and then finds the row gone.
export const useHandOverLink = `
  DELETE FROM hand_over_links
   WHERE digest = $2 AND ends_at > $3
     AND application_id = (SELECT id FROM applications WHERE client_id = $1 AND status = 'active')
  RETURNING id`
