import type { Application } from '../domain/application.ts'
import { digestGenerated, generateSecret } from '../domain/secret.ts'
import { type NewSuite, type Suite, unknownSuite } from '../domain/suite.ts'
import type { Clock } from '../domain/time.ts'
import type { Context } from './context.ts'
import { once, type Repeatable } from './idempotency.ts'
import { allPages } from './pages.ts'
import { suiteSchema, suiteUpdateSchema, takenId, valid } from './rules.ts'
import { type ListedSecret, listSecrets } from './secrets.ts'
import { createSuitePages } from './suite-pages.ts'

/** What an operator says of a suite to be registered. */
export interface SuiteRegistration {
  suiteId: string
  name: string
}

/** A registered suite. Its secret is shown this once. */
export interface RegisteredSuite extends SuiteRegistration {
  clientSecret: string
}

/** A suite with all that operators see of it. */
export interface ShownSuite extends Suite {
  secrets: ListedSecret[]
}

/** A suite on its way into the store, and what its operator is told. */
export interface PreparedSuite {
  newSuite: NewSuite
  registered: RegisteredSuite
}

/** Who may ask about tokens. */
export function createSuites(context: Context) {
  const { store, now, change, report } = context

  /** Registers one suite. `notApproved`: how many applications there are, none of which is approved for it. */
  async function register(
    registration: SuiteRegistration,
    repeatable: Repeatable = {},
  ): Promise<RegisteredSuite & { notApproved: number }> {
    const registered = await once<RegisteredSuite>(context, repeatable, async (auditOf) => {
      const { newSuite, registered } = prepareSuite(registration, { now })
      const added = await store.register({ suites: [newSuite], applications: [] }, auditOf(registered))
      if (added.suites.length === 0) throw takenId(newSuite.suiteId)
      report({ type: 'suite registered', suite: newSuite.suiteId, name: newSuite.name })
      return registered
    })
    return { ...registered, notApproved: await store.countApplications() }
  }

  /** Every suite, oldest first. */
  function list(): Promise<Suite[]> {
    return allPages((page) => store.listSuites(page))
  }

  /** The suite of this id, with all that operators see of it. */
  async function show(suiteId: string): Promise<ShownSuite> {
    const suite = await find(suiteId)
    return { ...suite, secrets: await listSecrets({ store, now }, suite.secrets) }
  }

  /** Changes its name. Resolves to whether it had another one. */
  async function update(suiteId: string, values: { name: string }): Promise<boolean> {
    const { name } = valid(suiteUpdateSchema, values)
    const { changed } = await change({ type: 'suite updated', suite: suiteId, name })
    if (!changed) await find(suiteId)
    return changed
  }

  /** The applications that are approved for a suite, oldest first. */
  function listApproved(suiteId: string): Promise<Application[]> {
    return allPages((page) => store.listApprovedApplications(suiteId, page))
  }

  /** From the next check on nobody can ask in its name, and no application is approved for it. */
  async function remove(suiteId: string): Promise<void> {
    const { changed } = await change({ type: 'suite removed', suite: suiteId })
    if (!changed) throw unknownSuite(suiteId)
  }

  async function find(suiteId: string): Promise<Suite> {
    const suite = await store.findSuite(suiteId)
    if (!suite) throw unknownSuite(suiteId)
    return suite
  }

  return { register, list, ...createSuitePages({ store, now }), show, update, listApproved, remove }
}

/** Checks a registration and generates a secret. Throws OperatorError with all that is wrong. */
export function prepareSuite(registration: SuiteRegistration, { now }: { now: Clock }): PreparedSuite {
  const { suiteId, name } = valid(suiteSchema, registration)
  const clientSecret = generateSecret()
  const createdAt = now()
  return {
    newSuite: {
      suiteId,
      name,
      createdAt,
      secret: { digest: digestGenerated(clientSecret), createdAt },
    },
    registered: { suiteId, name, clientSecret },
  }
}
