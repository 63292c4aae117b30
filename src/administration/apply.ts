import { versionOf } from '../domain/audit-event.ts'
import { mapInSteps } from '../domain/in-steps.ts'
import { OperatorError } from '../domain/operator-error.ts'
import { camelCased } from '../domain/text.ts'
import { applicationFields, PUBLIC_FIELDS, suiteFields } from '../views/registry.ts'
import type { Administration, Conditions } from './administration.ts'
import type { ApplicationSettings } from './applications.ts'
import { type Fields, isSame, KINDS, type Kind, type PlannedChange, pick } from './apply-plan.ts'
import type { SeedStep } from './seed.ts'

/** What a file is applied to: a database, or a server with its administration API. */
export interface Registry {
  list(kind: Kind): Promise<Fields[]>
  /** Registers new ones in steps, suites first. */
  register(added: PlannedChange[]): AsyncIterable<SeedStep>
  /** Throws OperatorError (`not found`). */
  find(kind: Kind, id: string): Promise<{ fields: Fields; version: string }>
  /** Sets the fields; null removes it all. Throws OperatorError (`another version`, `not found`) if it has changed since. */
  change(kind: Kind, id: string, version: string, values: Fields | null): Promise<void>
}

/** `on` returns the administration of a database, with conditions for its changes. */
export function databaseRegistry(on: (conditions: Conditions) => Administration): Registry {
  const { suites, applications, seed } = on({})
  return {
    async list(kind) {
      if (kind === 'suite') return mapInSteps(await suites.list(), suiteFields)
      return mapInSteps(await applications.list(), applicationFields)
    },

    register: seed.steps,

    async find(kind, id) {
      const { suite, application } = PUBLIC_FIELDS
      const fields = kind === 'suite' ? suite(await suites.show(id)) : application(await applications.show(id))
      return { fields, version: versionOf(fields) }
    },

    async change(kind, id, version, values) {
      const { suites, applications } = on({ onlyIf: [version] })
      if (!values) await (kind === 'suite' ? suites : applications).remove(id)
      else if (kind === 'suite') await suites.update(id, camelCased(values))
      else await applications.set(id, camelCased<ApplicationSettings>(values))
    },
  }
}

/**
 * Makes a planned change, unless it has already been made; `managedBy` is the name of the file, if it has one. Throws OperatorError if
 * others have changed what it would change.
 */
export async function applyChange(
  registry: Registry,
  { kind, id, before, after }: PlannedChange,
  managedBy?: string,
): Promise<void> {
  // Tries again if others have just changed something that it leaves unchanged.
  for (let tries = 0; tries < 3; tries++) {
    const found = await registry.find(kind, id).catch(ifCurrent)
    const has = (fields: Fields) => Object.keys(fields).every((name) => isSame(found?.fields[name], fields[name]))
    if (after ? has(after) : !found) return
    if (!found || !has(before as Fields)) break
    const { managed_by: _, ...kept } = pick(found.fields, KINDS[kind].fields)
    const values = after && { ...kept, ...(managedBy && { managed_by: managedBy }), ...after }
    if (await registry.change(kind, id, found.version, values).then(() => true, ifCurrent)) return
  }
  throw new OperatorError(`Others have changed the ${kind} ${id} since the plan, so it is left unchanged.`)
}

/** Rethrows an error, unless the cause is that something was changed or removed in the meantime. */
function ifCurrent(error: unknown): undefined {
  if (!(error instanceof OperatorError && ['another version', 'not found'].includes(error.kind))) throw error
}
