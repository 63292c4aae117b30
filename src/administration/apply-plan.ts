import { isDeepStrictEqual } from 'node:util'
import {
  APPLICATION_COLUMNS,
  type ApplicationValues,
  hasLabel,
  type Labels,
  labelTexts,
  type NewApplication,
  nameAndDeveloper,
  namedSuites,
} from '../domain/application.ts'
import type { OperatorError } from '../domain/operator-error.ts'
import { unknownSuite } from '../domain/suite.ts'
import { jsonNamed, settingsSchema, suiteUpdateSchema, takenId } from './rules.ts'

/** The fields that a file may have for a suite or an application, by their names in JSON. A new one needs those in `needed`. */
export const KINDS = {
  suite: { id: 'id', fields: Object.keys(jsonNamed(suiteUpdateSchema.shape)), needed: ['name'] },
  application: {
    id: 'client_id',
    fields: Object.keys(jsonNamed(settingsSchema.shape)),
    needed: APPLICATION_COLUMNS,
  },
} as const

export type Kind = keyof typeof KINDS

/** Fields by their names in JSON. */
export type Fields = Readonly<Record<string, unknown>>

/** A path in a file, and what is wrong there. */
export type Problem = [path: PropertyKey[], message: string]

/** A parsed file. A kind without a list stays as it is. `refuse` makes an error of problems, with their places in the file. */
export interface Wanted extends Partial<Record<`${Kind}s`, readonly Fields[] | undefined>> {
  /** The name of the file, which its entries are marked with. What has this mark and is not in the file loses it. */
  managed_by?: string | undefined
  refuse(problems: Problem[]): OperatorError
}

/** The fields that a file is compared with, by their names in JSON; applications oldest first. */
export type Present = Record<Kind, readonly Fields[]>

/** `before` and `after` are the fields that differ; null if it does not exist. */
export interface PlannedChange {
  action: 'add' | 'change' | 'remove'
  kind: Kind
  /** Empty if a new one is yet to be generated. */
  id: string
  /** The name before the change or, if it is new, after it. */
  name: string
  before: Fields | null
  after: Fields | null
}

interface PlanOptions {
  /** Anything with this label that is not in the file is removed. */
  prune?: string | undefined
  /**
   * Whether existing ones are compared only in the fields that every entry has, and may name suites that are gone. An entry
   * without a client id then means the application with its name and developer.
   */
  isSeed?: boolean
}

/** The changes that make the registry match the file, and their counts. Throws OperatorError with every problem and its place. */
export function planOf(wanted: Wanted, present: Present, { prune = '', isSeed = false }: PlanOptions = {}) {
  const problems: Problem[] = []
  const changes: PlannedChange[] = []
  /** Where each entry is in the file, by its key. */
  const places = new Map<string, string>()
  /** Entries by id and by identity; if several share an identity, it leads to the oldest. */
  const byKey = (kind: Kind) => {
    const keysOf = (fields: Fields) => [identityOf(fields), String(fields[KINDS[kind].id])]
    return new Map(present[kind].toReversed().flatMap((fields) => keysOf(fields).map((key) => [key, fields] as const)))
  }
  const found = { suite: byKey('suite'), application: byKey('application') }
  const approvals: [at: number, suites: readonly string[]][] = []
  const isPruned = ({ labels = {} }: Fields) => hasLabel(labels as Labels, prune)

  function planEntry(kind: Kind, at: number, entry: Fields): void {
    const { id: idField, fields, needed } = KINDS[kind]
    const id = entry[idField]
    const key = String(id ?? identityOf(entry))
    const before = found[kind].get(key)
    const refuse = (message: string, ...path: PropertyKey[]) => problems.push([[`${kind}s`, at, ...path], message])
    const missing = needed.filter((name) => !entry[name])
    const place = places.get(key)
    if (place && id) refuse(`It has the same id as ${place}`, idField)
    else if (place) refuse(`It has the same name and developer_email as ${place}`, 'name')
    places.set(key, `${kind}s[${at}]`)
    if (found[kind === 'suite' ? 'application' : 'suite'].has(key)) refuse(takenId(key).message, idField)
    else if (!before && missing.length > 0) refuse(`It is new, so it needs ${missing.join(' and ')}`)
    if (prune && !isPruned(entry)) refuse(`With --prune it needs the label ${prune}`)
    if (!before || !isSeed) approvals.push([at, namedSuites(entry.suites as NewApplication['suites'])])
    const compared = before && isSeed ? needed : [...fields, 'client_secret']
    const differing = compared.filter((name) => entry[name] !== undefined && !isSame(before?.[name], entry[name]))
    const after = pick(entry, differing)
    const name = String((before ?? entry).name)
    if (!before) {
      changes.push({ action: 'add', kind, id: String(id ?? ''), name, before: null, after })
      // A later entry without a client id may mean this one.
      found[kind].set(identityOf(entry), entry)
    } else if (differing.length > 0) {
      const id = String(before[idField])
      changes.push({ action: 'change', kind, id, name, before: pick(before, differing), after })
    }
  }

  for (const [at, entry] of wanted.suites?.entries() ?? []) planEntry('suite', at, entry)
  for (const [at, entry] of wanted.applications?.entries() ?? []) planEntry('application', at, entry)
  const { managed_by } = wanted
  let released = 0
  for (const kind of ['application', 'suite'] as const) {
    for (const fields of wanted[`${kind}s`] ? present[kind] : []) {
      const id = String(fields[KINDS[kind].id])
      if (places.has(id)) continue
      const about = { kind, id, name: String(fields.name) }
      if (isPruned(fields)) {
        changes.push({ action: 'remove', ...about, before: pick(fields, KINDS[kind].fields), after: null })
        found[kind].delete(id)
      } else if (managed_by && !isSeed && fields.managed_by === managed_by) {
        changes.push({ action: 'change', ...about, before: { managed_by }, after: { managed_by: '' } })
        released++
      }
    }
  }
  for (const { id } of wanted.suites ?? []) found.suite.set(String(id), {})
  for (const [at, suites] of approvals) {
    for (const [nth, id] of suites.entries()) {
      if (!found.suite.has(id)) problems.push([['applications', at, 'suites', nth], unknownSuite(id).message])
    }
  }
  if (problems.length > 0) throw wanted.refuse(problems)
  return counted(changes, places.size + released)
}

/** `kept`: how many the file lists, or leaves without its mark. */
function counted(changes: PlannedChange[], kept: number) {
  const { add = [], change = [], remove = [] } = Object.groupBy(changes, ({ action }) => action)
  const unchanged = kept - add.length - change.length
  return { changes, add: add.length, change: change.length, remove: remove.length, unchanged }
}

/** What identifies an application without a client id in a file. */
export function identityOf({ name, developer_email: developerEmail }: Fields): string {
  return nameAndDeveloper({ name, developerEmail } as ApplicationValues)
}

export function pick(fields: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(names.filter((name) => fields[name] !== undefined).map((name) => [name, fields[name]]))
}

/** Whether two values of a field are equal. Suites and federated credentials have no order. */
export function isSame(one: unknown, other: unknown): boolean {
  const sorted = (value: unknown) => (Array.isArray(value) ? [...new Set(value.map(entryText))].sort() : value)
  return isDeepStrictEqual(sorted(one), sorted(other))
}

/** What has no value is left out. */
function entryText(entry: unknown): string {
  return typeof entry === 'string' ? entry : JSON.stringify(entry, (_, value) => value ?? undefined)
}

export function planText({ changes, add, change, remove, unchanged }: ReturnType<typeof planOf>): string {
  if (changes.length === 0) return 'No changes.'
  const diff = changes.map(({ action, kind, id, name, before, after }) => {
    const head = `${{ add: '+', change: '~', remove: '-' }[action]} ${kind} ${id}  ${shown(name)}`
    if (!before || !after) return head
    const fields = Object.keys(after).map((name) => `    ${name} ${differenceText(before[name], after[name])}`)
    return [head, ...fields].join('\n')
  })
  return `${diff.join('\n')}\n\nTo add: ${add}, to change: ${change}, to remove: ${remove}, unchanged: ${unchanged}.`
}

/** Shows what is added to and removed from a list or labels. */
function differenceText(before: unknown, after: unknown): string {
  if (before === null || typeof before !== 'object') return `${shown(before)} → ${shown(after)}`
  const texts = (value: unknown) => new Set(Array.isArray(value) ? value.map(entryText) : labelTexts(value as Labels))
  const added = [...texts(after).difference(texts(before))].map((text) => `+${shown(text)}`)
  const removed = [...texts(before).difference(texts(after))].map((text) => `-${shown(text)}`)
  return [...added, ...removed].join(' ')
}

/** Null stands for TOKEN_QUOTA. */
function shown(value: unknown): string {
  const text = String(value ?? 'default')
  return /^\S+$/.test(text) ? text : JSON.stringify(text)
}
