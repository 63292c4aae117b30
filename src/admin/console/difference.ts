import type { PublicFields } from '../../domain/audit-event.ts'
import { time } from './components/words.ts'
import { type Html, html, type Part } from './html.ts'

/** RFC 3339, as the views write every moment. */
const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/** What says of something new only what the rest of its row says: who it is, and since when. */
const SAID_ELSEWHERE = ['client_id', 'id', 'created_at']

/** Values of one field that were taken away, and that came. */
interface FieldChange {
  field: string
  gone: readonly unknown[]
  come: readonly unknown[]
}

/**
 * What is different, field by field. Null: it was not there before, or is not there any more. Of what was added or removed a
 * line is enough, with the fields behind it.
 */
export function difference(before: PublicFields | null, after: PublicFields | null): Html {
  const fields = fieldByField(before, after)
  const whole = before === null || after === null ? summaryOf(before ?? after ?? {}) : []
  if (whole.length === 0) return fields
  return html`<details class="whole"><summary>${whole.map((part, n) => html`${n > 0 && ' · '}${part}`)}</summary>${fields}</details>`
}

/** Its role, and how many it has of what. Its name is said elsewhere in the row. */
function summaryOf(fields: PublicFields): Part[] {
  return Object.entries(fields).flatMap(([field, value]): Part[] => {
    if (field === 'role' && typeof value === 'string') return [value]
    if (!Array.isArray(value) || value.length === 0) return []
    return [value.length === 1 ? `1 ${singular(field)}` : `${value.length} ${words(field)}`]
  })
}

function fieldByField(before: PublicFields | null, after: PublicFields | null): Html {
  const all = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])]
  const fields = before && after ? all : all.filter((field) => !SAID_ELSEWHERE.includes(field))
  const changes = fields.flatMap((field) => changesOf(field, before?.[field], after?.[field]))
  if (changes.length === 0) return html`<span class="quiet-text">–</span>`
  return html`<ul class="difference">${changes.map(
    ({ field, gone, come }) =>
      html`<li>${words(field)}: ${[
        ...gone.map((value) => html`<del>${shown(value)}</del> `),
        gone.length > 0 && come.length > 0 && '→ ',
        ...come.map((value) => html`<ins>${shown(value)}</ins> `),
      ]}</li>`,
  )}</ul>`
}

function changesOf(field: string, before: unknown, after: unknown): FieldChange[] {
  if (Array.isArray(before ?? after) && Array.isArray(after ?? before)) {
    return ofLists(field, (before ?? []) as unknown[], (after ?? []) as unknown[])
  }
  if (isSame(before ?? null, after ?? null)) return []
  return [{ field, gone: there(before), come: there(after) }]
}

/** Lists: only what is in one of them. Of two items with the same id, what is different between them. */
function ofLists(field: string, before: readonly unknown[], after: readonly unknown[]): FieldChange[] {
  const idsAfter = new Map(after.flatMap((item) => (isItem(item) ? [[item.id, item] as const] : [])))
  const pairs = before.flatMap((item) => {
    const other = isItem(item) ? idsAfter.get(item.id) : undefined
    return isItem(item) && other ? [[item, other] as const] : []
  })
  const paired = new Set<unknown>(pairs.flat())
  const [textsBefore, textsAfter] = [before, after].map((list) => new Set(list.map((item) => JSON.stringify(item))))
  const gone = before.filter((item) => !paired.has(item) && !textsAfter?.has(JSON.stringify(item)))
  const come = after.filter((item) => !paired.has(item) && !textsBefore?.has(JSON.stringify(item)))
  return [
    ...(gone.length + come.length > 0
      ? [{ field: gone.length + come.length === 1 ? singular(field) : field, gone, come }]
      : []),
    ...pairs.flatMap(([old, now]) =>
      Object.keys(now).flatMap((key) => changesOf(`${singular(field)} ${now.id} ${key}`, old[key], now[key])),
    ),
  ]
}

function isItem(value: unknown): value is Record<string, unknown> & { id: string | number } {
  return typeof value === 'object' && value !== null && 'id' in value
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

function there(value: unknown): unknown[] {
  return value === undefined ? [] : [value]
}

function shown(value: unknown): Part {
  if (value === null) return 'none'
  if (typeof value === 'string') return MOMENT.test(value) ? time(Date.parse(value)) : html`<bdi>${value}</bdi>`
  if (isItem(value)) return `${value.id}`
  if (typeof value !== 'object' || Array.isArray(value)) return JSON.stringify(value)
  const parts = Object.entries(value).filter(([key]) => !SAID_ELSEWHERE.includes(key))
  return parts.map(([key, part], n) => html`${n > 0 && ', '}${words(key)} ${shown(part)}`)
}

function words(field: string): string {
  return field.replaceAll('_', ' ')
}

function singular(field: string): string {
  return words(field).replace(/s$/, '')
}
