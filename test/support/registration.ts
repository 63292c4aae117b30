import type { Administration } from '../../src/administration/administration.ts'
import type { Registration } from '../../src/administration/applications.ts'
import type { Repeatable } from '../../src/administration/idempotency.ts'
import { type ApplicationValues, columnsOf } from '../../src/domain/application.ts'

/** What every application has. A test names only what it is about. */
const NEEDED: ApplicationValues = { name: 'A', developerEmail: 'a@b.example' }

export function aRegistration(more: Partial<Registration> = {}): Registration {
  return { ...NEEDED, ...more }
}

/** The same as options of `applications register`. */
export const REGISTRATION_OPTIONS = Object.entries(columnsOf(NEEDED))
  .map(([column, value]) => `--${column.replaceAll('_', '-')} ${value}`)
  .join(' ')

/** The same for the API, for forms and in files. */
export function registrationJson<More extends object>(more: More) {
  return { ...columnsOf(NEEDED), ...more }
}

export type Filling = ReturnType<typeof filling>

/** An administration that fills in what a registration does not say. */
export function filling(administration: Administration) {
  const register = (more?: Partial<Registration>, repeatable?: Repeatable) =>
    administration.applications.register(aRegistration(more), repeatable)
  return { ...administration, applications: { ...administration.applications, register } }
}
