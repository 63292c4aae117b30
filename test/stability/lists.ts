/** What must stay: names, such as those of settings, each with the facts about it. */
export type Entries = Record<string, string[]>

/** One entry on each line. */
export function textOf(entries: Entries): string {
  const lines = Object.entries(entries).map(([name, facts]) => [name, ...new Set(facts)].join(' | '))
  return lines.map((line) => `${line}\n`).join('')
}

export function entriesIn(text: string): Entries {
  const lines = text.trimEnd().split('\n')
  return Object.fromEntries(lines.map((line) => line.split(' | ')).map(([name = '', ...facts]) => [name, facts]))
}

/** What was there and is not any more, or is otherwise now. What was added is not looked at. */
export function lost(before: Entries, now: Entries): string[] {
  return Object.entries(before).flatMap(([name, facts]) => {
    const { [name]: found } = now
    return found ? facts.filter((fact) => !found.includes(fact)).map((fact) => `${name} | ${fact}`) : [name]
  })
}
