/** The fields of a form or a query, as text. */
export interface Fields {
  /** The first value with this name, trimmed; empty if there is none. */
  text(name: string): string
  /** All values with this name. */
  all(name: string): string[]
}

/** Reads a parsed form or query, which has one or several values for each name. */
export function fieldsOf(values: unknown): Fields {
  const all = (name: string) => [(values as Record<string, string | string[]> | undefined)?.[name] ?? []].flat()
  return { all, text: (name) => all(name)[0]?.trim() ?? '' }
}
