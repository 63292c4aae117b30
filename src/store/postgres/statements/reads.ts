// Reads that are made for many requests at once.

export const readTokens = `
  SELECT c.registry, extract(epoch FROM clock_timestamp()) * 1000,
         t.id, encode(t.secret_hash, 'hex'), t.application_id, t.generation, t.issued_at, t.revoked_at
    FROM changes c
    LEFT JOIN tokens t ON t.id = ANY ($1::uuid[])`

// The same for no token: planning it costs a fifth.
export const readVersion = `
  SELECT registry, extract(epoch FROM clock_timestamp()) * 1000, NULL
    FROM changes`

export const mostImportedSecrets = `
  SELECT c.registry, (
         SELECT coalesce(max(greatest(1, n.unrevoked)), 0)
           FROM (SELECT count(*) FILTER (WHERE revoked_at IS NULL) AS unrevoked
                   FROM secrets
                  WHERE digest LIKE '$scrypt$%'
                  GROUP BY application_id) n)
    FROM changes c`
