import type { PublicFields } from '../../domain/audit-event.ts'
import { time } from './components/words.ts'
import { type Html, html, type Part } from './html.ts'

/** RFC 3339, in the format of the views. */
const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/** Fields of a new or removed subject that other cells of the row already show. */
const REDUNDANT_FIELDS = ['client_id', 'id', 'created_at']

/** The removed and added values of one field. */
interface FieldChange {
  field: string
  removed: readonly unknown[]
  added: readonly unknown[]
}

/**
 * The difference, field by field. `before` is null for a new subject, `after` for a removed one: these are summarized in a line
 * that expands to their fields.
 */
export function difference(before: PublicFields | null, after: PublicFields | null): Html {
  const fields = fieldByField(before, after)
  const whole = before === null || after === null ? summaryOf(before ?? after ?? {}) : []
  if (whole.length === 0) return fields
  return html`<details class="whole"><summary>${whole.map((part, n) => html`${n > 0 && ' · '}${part}`)}</summary>${fields}</details>`
}

/** The role, and the length of each list. The row shows the name in another cell. */
function summaryOf(fields: PublicFields): Part[] {
  return Object.entries(fields).flatMap(([field, value]): Part[] => {
    if (field === 'role' && typeof value === 'string') return [value]
    if (!Array.isArray(value) || value.length === 0) return []
    return [value.length === 1 ? `1 ${singular(field)}` : `${value.length} ${words(field)}`]
  })
}

function fieldByField(before: PublicFields | null, after: PublicFields | null): Html {
  const all = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])]
  const fields = before && after ? all : all.filter((field) => !REDUNDANT_FIELDS.includes(field))
  const changes = fields.flatMap((field) => changesOf(field, before?.[field], after?.[field]))
  if (changes.length === 0) return html`<span class="quiet-text">–</span>`
  return html`<ul class="difference">${changes.map(
    ({ field, removed, added }) =>
      html`<li>${words(field)}: ${[
        ...removed.map((value) => html`<del>${shown(value)}</del> `),
        removed.length > 0 && added.length > 0 && '→ ',
        ...added.map((value) => html`<ins>${shown(value)}</ins> `),
      ]}</li>`,
  )}</ul>`
}

function changesOf(field: string, before: unknown, after: unknown): FieldChange[] {
  if (Array.isArray(before ?? after) && Array.isArray(after ?? before)) {
    return ofLists(field, (before ?? []) as unknown[], (after ?? []) as unknown[])
  }
  if (JSON.stringify(before ?? null) === JSON.stringify(after ?? null)) return []
  return [{ field, removed: listOf(before), added: listOf(after) }]
}

/** Items that are in one of the lists only. Items with the same id are compared field by field. */
function ofLists(field: string, before: readonly unknown[], after: readonly unknown[]): FieldChange[] {
  const idsAfter = new Map(after.flatMap((item) => (isItem(item) ? [[item.id, item] as const] : [])))
  const pairs = before.flatMap((item) => {
    const other = isItem(item) ? idsAfter.get(item.id) : undefined
    return isItem(item) && other ? [[item, other] as const] : []
  })
  const paired = new Set<unknown>(pairs.flat())
  const [textsBefore, textsAfter] = [before, after].map((list) => new Set(list.map((item) => JSON.stringify(item))))
  const removed = before.filter((item) => !paired.has(item) && !textsAfter?.has(JSON.stringify(item)))
  const added = after.filter((item) => !paired.has(item) && !textsBefore?.has(JSON.stringify(item)))
  return [
    ...(removed.length + added.length > 0
      ? [{ field: removed.length + added.length === 1 ? singular(field) : field, removed, added }]
      : []),
    ...pairs.flatMap(([old, now]) =>
      Object.keys(now).flatMap((key) => changesOf(`${singular(field)} ${now.id} ${key}`, old[key], now[key])),
    ),
  ]
}

function isItem(value: unknown): value is Record<string, unknown> & { id: string | number } {
  return typeof value === 'object' && value !== null && 'id' in value
}

function listOf(value: unknown): unknown[] {
  return value === undefined || value === null ? [] : [value]
}

function shown(value: unknown): Part {
  if (value === null) return 'none'
  if (typeof value === 'string') return MOMENT.test(value) ? time(Date.parse(value)) : html`<bdi>${value}</bdi>`
  if (isItem(value)) return `${value.id}`
  if (typeof value !== 'object' || Array.isArray(value)) return JSON.stringify(value)
  const parts = Object.entries(value).filter(([key]) => !REDUNDANT_FIELDS.includes(key))
  return parts.map(([key, part], n) => html`${n > 0 && ', '}${words(key)} ${shown(part)}`)
}

function words(field: string): string {
  return field.replaceAll('_', ' ')
}

function singular(field: string): string {
  return words(field).replace(/s$/, '')
}
