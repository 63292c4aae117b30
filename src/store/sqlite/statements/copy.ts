import { type Column, columnsOf, type Table } from '../../copy.ts'

/** The rows after a key, in its order; bytes are hex. */
export function selectPage(table: Table): string {
  const { columns, key } = columnsOf(table)
  const names = key.map(({ name }) => name)
  return `
  SELECT ${columns.map((column) => (isBytes(column) ? `lower(hex(${column.name}))` : column.name))}
    FROM ${table}
   WHERE (${names}) > (${key.map((column) => (isBytes(column) ? 'unhex(?)' : '?'))})
   ORDER BY ${names}
   LIMIT ?`
}

function isBytes({ type }: Column): boolean {
  return type === 'uuid' || type === 'bytea'
}

export const lastKeys = `
  SELECT name, seq FROM sqlite_sequence WHERE seq > 0`
