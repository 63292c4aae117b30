// The issuers of federated credentials that are active at $1, and their keys. Never fetched ones have no keys.

export const NAMED = 'keys_from IS NOT NULL AND revoked_at IS NULL AND (ends_at IS NULL OR ends_at > $1)'

const issuers = (where: string) => `
  SELECT named.issuer, i.keys, i.fetched_at, i.tried_at, i.answered_at, i.problem
    FROM (SELECT DISTINCT keys_from AS issuer FROM secrets WHERE ${NAMED} ${where}) named
    LEFT JOIN federated_issuers i ON i.issuer = named.issuer
   ORDER BY named.issuer`

export const listIssuers = issuers('')
export const findIssuer = issuers('AND keys_from = $2')

// Returns a row to one process a minute. A later time is that of a clock that was set back.
export const beginFetch = `
  INSERT INTO federated_issuers (issuer, tried_at)
  VALUES ($1, $2)
      ON CONFLICT (issuer) DO UPDATE
     SET tried_at = excluded.tried_at
   WHERE federated_issuers.tried_at NOT BETWEEN excluded.tried_at - 59999 AND excluded.tried_at + 59999
  RETURNING issuer`

// Without keys, those that were fetched before stay.
export const endFetch = `
  UPDATE federated_issuers
     SET answered_at = $2, problem = $4,
         keys = coalesce($3, keys), fetched_at = CASE WHEN CAST($3 AS text) IS NULL THEN fetched_at ELSE $2 END
   WHERE issuer = $1`
