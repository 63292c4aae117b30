// Statements that several files use.
export const findTable = 'SELECT 1 FROM sqlite_schema LIMIT 1'
export const findTableNamed = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?"
export const oldestProgram = 'SELECT oldest_program FROM compatibility'
export const findMove = 'SELECT place, began_at AS beganAt, copied_at AS copiedAt FROM moved'
