import { type Application, generateClientId, type NewApplication } from './application.ts'
import type { Clock } from './clock.ts'
import { AdministrationError } from './refusal.ts'
import { registrationSchema } from './registration.ts'
import { digestGenerated, digestImported, generateSecret } from './secret.ts'
import type { Store } from './store.ts'

/** What an operator says of an application to be registered. Whatever is left out is generated. */
export interface Registration {
  name: string
  developerEmail: string
  clientId?: string | undefined
  clientSecret?: string | undefined
}

/** A registered application. The only time that a generated secret is seen; undefined where it was brought along. */
export interface Registered {
  clientId: string
  clientSecret: string | undefined
  name: string
  developerEmail: string
}

/** An ended secret is kept this long, so that the log can tell an expired one from a wrong one. 30 days. */
const REMEMBER_ENDED = 30 * 24 * 60 * 60 * 1000

export type Administration = ReturnType<typeof createAdministration>

/** What an operator can do to applications, secrets and tokens. Every refusal is an AdministrationError. */
export function createAdministration({ store, now }: { store: Store; now: Clock }) {
  /** Registers one application. */
  async function register(registration: Registration): Promise<Registered> {
    const { newApplication, registered } = await prepare(registration, false)
    const added = await store.addApplications([newApplication])
    if (added.length === 0) {
      throw new AdministrationError(`An application with the client id ${registered.clientId} exists already.`)
    }
    return registered
  }

  /**
   * Registers those applications that are missing and leaves those that exist: the ones with the same client id or,
   * where none is given, the same name and developer. All in one transaction.
   */
  async function seed(registrations: Registration[]): Promise<Registered[]> {
    const existing = await store.listApplications()
    const missing = registrations.filter((registration) => !existing.some((one) => isSame(registration, one)))
    const prepared = []
    for (const registration of missing) prepared.push(await prepare(registration, registration.clientId === undefined))
    const added = await store.addApplications(prepared.map(({ newApplication }) => newApplication))
    return prepared.filter(({ newApplication }) => added.includes(newApplication)).map(({ registered }) => registered)
  }

  async function prepare(registration: Registration, uniqueName: boolean) {
    const { name, developerEmail, clientId = generateClientId(), clientSecret } = valid(registration)
    const generated = generateSecret()
    const digest = clientSecret === undefined ? digestGenerated(generated) : await digestImported(clientSecret)
    const createdAt = now()
    const newApplication: NewApplication = {
      clientId,
      name,
      developerEmail,
      createdAt,
      secret: { digest, createdAt },
      uniqueName,
    }
    const registered: Registered = {
      clientId,
      clientSecret: clientSecret === undefined ? generated : undefined,
      name,
      developerEmail,
    }
    return { newApplication, registered }
  }

  /** The application of this client id. */
  async function show(clientId: string): Promise<Application> {
    const application = await store.findApplication(clientId)
    if (!application) throw unknown(clientId)
    return application
  }

  /** From the next request on, the application gets no token. */
  async function suspend(clientId: string): Promise<void> {
    if (!(await store.setStatus(clientId, 'suspended'))) throw unknown(clientId)
  }

  async function resume(clientId: string): Promise<void> {
    if (!(await store.setStatus(clientId, 'active'))) throw unknown(clientId)
  }

  async function remove(clientId: string): Promise<void> {
    if (!(await store.removeApplication(clientId))) throw unknown(clientId)
  }

  /** Gives the application a new secret now and ends its others after `overlap` milliseconds at the latest. */
  async function rotateSecret(clientId: string, overlap: number) {
    const clientSecret = generateSecret()
    const time = now()
    const secret = { digest: digestGenerated(clientSecret), createdAt: time }
    const othersEndAt = time + overlap
    if (!(await store.rotateSecret(clientId, secret, othersEndAt, time - REMEMBER_ENDED))) throw unknown(clientId)
    return { clientId, clientSecret, othersEndAt }
  }

  /** Ends one secret now. */
  async function revokeSecret(clientId: string, secretId: number): Promise<void> {
    await show(clientId)
    if (!(await store.endSecret(clientId, secretId, now()))) {
      throw new AdministrationError(`The application ${clientId} has no secret ${secretId}.`)
    }
  }

  /** Revokes every token that the application was issued until now. */
  async function revokeAllTokens(clientId: string): Promise<void> {
    // One millisecond on, so that a token of this very millisecond is revoked too.
    if (!(await store.revokeTokens(clientId, now() + 1))) throw unknown(clientId)
  }

  return {
    register,
    seed,
    list: () => store.listApplications(),
    show,
    suspend,
    resume,
    remove,
    rotateSecret,
    revokeSecret,
    revokeAllTokens,
  }
}

function valid(registration: Registration): Registration {
  const result = registrationSchema.safeParse(registration)
  if (result.success) return result.data
  throw new AdministrationError(`${result.error.issues.map(({ message }) => message).join('; ')}.`)
}

function isSame(registration: Registration, application: Application): boolean {
  return registration.clientId === undefined
    ? registration.name === application.name && registration.developerEmail === application.developerEmail
    : registration.clientId === application.clientId
}

function unknown(clientId: string): AdministrationError {
  return new AdministrationError(`There is no application with the client id ${clientId}.`)
}
