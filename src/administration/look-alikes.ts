import { ABBREVIATED, MAX_CLIENT_ID_LENGTH } from '../domain/application.ts'
import type { RefusalCount } from '../domain/refusal.ts'

/** So many characters may be wrong, missing or too many. */
const MAX_SLIPS = 2

/** So many characters longer or shorter: two quotes and a line break, for example. */
const MAX_EXTRA = 4

/** A shorter client id is like any other one. */
const SHORTEST = 6

/** So much of a client id tells it from others where the rest is cut off. */
const SHORTEST_BEGINNING = 4

/** What gets around a client id by mistake: quotes, spaces. */
const WRAPPING = /["'\s<>]/

/** Whether the beginning of a client id that is not registered may be this one's: quoted, cut off, or in another case. */
export function looksLike({ clientId: shown }: Pick<RefusalCount, 'clientId'>, clientId: string): boolean {
  const [, beginning = '', length] = ABBREVIATED.exec(shown) ?? []
  const kept = plain(beginning)
  if (kept.length < 2) return false
  const extra = Number(length) - clientId.length
  const isCutOff = extra < 0 && Number(length) >= SHORTEST_BEGINNING
  return plain(clientId).startsWith(kept) && (isCutOff || Math.abs(extra) <= MAX_EXTRA)
}

/** Matches client ids that start with the requested text or differ from it by a typo or two. The text may be anything. */
export function nearTo(asked: string): (clientId: string) => boolean {
  if (asked.length > MAX_CLIENT_ID_LENGTH + MAX_EXTRA) return () => false
  const b = plain(asked)
  return (clientId) => {
    const a = plain(clientId)
    if (a === b || (b.length >= SHORTEST_BEGINNING && a.startsWith(b))) return true
    return Math.min(a.length, b.length) >= SHORTEST && distance(a, b) <= MAX_SLIPS
  }
}

/** Lower case, without surrounding quotes and spaces. A loop, because /["\s]+$/ takes quadratic time on a thousand quotes. */
function plain(clientId: string): string {
  const isWrapping = (at: number) => WRAPPING.test(clientId.charAt(at))
  let [start, end] = [0, clientId.length]
  while (isWrapping(start)) start++
  while (end > start && isWrapping(end - 1)) end--
  return clientId.slice(start, end).toLowerCase()
}

/** How many characters must be changed, added or left out to make one text the other (Levenshtein); at most one too many. */
function distance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > MAX_SLIPS) return MAX_SLIPS + 1
  let row = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const changed = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(changed, (row[j] as number) + 1, (next[j - 1] as number) + 1))
    }
    if (Math.min(...next) > MAX_SLIPS) return MAX_SLIPS + 1
    row = next
  }
  return row[b.length] as number
}
