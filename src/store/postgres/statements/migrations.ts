// How the schema comes to its version.

export const lockMigrations = `
  SELECT pg_advisory_xact_lock(7033017, 1)`

// With this column: other programs have a table of that name, too.
export const findMigrations = `
  SELECT EXISTS (
    SELECT FROM pg_attribute WHERE attrelid = to_regclass('migrations') AND attname = 'number')`

export const createMigrations = `
  CREATE TABLE migrations (
    number     integer PRIMARY KEY,
    name       text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
  )`

export const schemaVersion = `
  SELECT coalesce(max(number), 0) FROM migrations`

export const insertMigration = `
  INSERT INTO migrations (number, name) VALUES ($1, $2)`

export const oldestProgram = `
  SELECT oldest_program FROM compatibility`

export const countTables = `
  SELECT count(*)
    FROM pg_class c
   WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace
     AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')`
