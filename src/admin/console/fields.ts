/** The fields of a form or a query, as text. */
export interface Fields {
  /** The first value of this name, without space around it; empty where there is none. */
  text(name: string): string
  /** Every value of this name. */
  all(name: string): string[]
}

/** Reads what a form or a query has: a value for each name, or several. */
export function fieldsOf(values: unknown): Fields {
  const all = (name: string) => [(values as Record<string, string | string[]> | undefined)?.[name] ?? []].flat()
  return { all, text: (name) => all(name)[0]?.trim() ?? '' }
}
