import type { Observer } from '../domain/events.ts'
import { mayBeJwt } from '../domain/federation.ts'
import { OperatorError } from '../domain/operator-error.ts'
import { AuthenticationRefused } from '../domain/refusal.ts'
import { isFederated, MAX_FEDERATED, type Secret } from '../domain/secret.ts'
import { asSentence } from '../domain/text.ts'
import { federatedOf, find } from './applications.ts'
import type { Context } from './context.ts'
import { once, type Repeatable } from './idempotency.ts'
import { type FederatedInput, federatedSchema, valid } from './rules.ts'

/** What would happen with a JWT: the steps, of which the last one fails unless it is accepted. */
export interface FederatedTest {
  accepted: boolean
  steps: { ok: boolean; text: string }[]
}

/** Federated credentials are listed and revoked as secrets. */
export function createFederated(context: Context, { observe, publicUrl }: { observe: Observer; publicUrl: string }) {
  const { store, now, change } = context

  /** Resolves to its id. Throws OperatorError if it breaks a rule, equals one that is not revoked, or if there are too many. */
  async function add(clientId: string, input: FederatedInput, repeatable: Repeatable = {}): Promise<number> {
    const secret = federatedOf(valid(federatedSchema, input), now())
    const { createdAt } = await once<Pick<Secret, 'createdAt'>>(context, repeatable, async (auditOf) => {
      const { secrets } = await find(context, clientId)
      const present = secrets.filter(({ federated, revokedAt }) => federated && revokedAt === null)
      const same = present.find(({ digest, endsAt }) => digest === secret.digest && endsAt === secret.endsAt)
      if (same) throw new OperatorError(`${clientId} already has this federated credential: ${same.id}.`)
      if (present.length >= MAX_FEDERATED) {
        throw new OperatorError(`${clientId} already has ${MAX_FEDERATED} federated credentials: remove one first.`)
      }
      const answer = { createdAt: secret.createdAt }
      await change({ type: 'secret added', owner: clientId, secret }, auditOf(answer))
      return answer
    })
    // Also finds it if this call is repeated.
    const { secrets } = await find(context, clientId)
    const ofCall = secrets.filter((one) => one.digest === secret.digest && one.createdAt === createdAt)
    // A revocation changes the end.
    const added =
      ofCall.findLast(({ endsAt }) => endsAt === secret.endsAt) ??
      ofCall.findLast(({ revokedAt }) => revokedAt !== null)
    // Since then, the application was removed and registered again.
    if (!added) throw new OperatorError(`${clientId} no longer has this federated credential.`, { kind: 'not found' })
    return added.id
  }

  /** Does what a token request of this application with this JWT does, but counts nothing. Keys that it fetches are kept. */
  async function test(clientId: string, token: string): Promise<FederatedTest> {
    const { createExaminer } = await import('../federation/examine.ts')
    const { secrets, status } = await find(context, clientId)
    const steps: FederatedTest['steps'] = []
    const passed = (text: string) => steps.push({ ok: true, text })
    const failed = (text: string) => ({ accepted: false, steps: [...steps, { ok: false, text: asSentence(text) }] })
    if (!secrets.some(isFederated)) return failed('The application has no federated credential')
    try {
      await createExaminer({ store, now, observe, publicUrl })(secrets, token, { passed })
    } catch (error) {
      if (!(error instanceof AuthenticationRefused)) throw error
      return failed(`${error.reason}: ${error.detail}`)
    }
    // A token request would take it for a secret.
    if (!mayBeJwt(token)) return failed('It is too long, or has a character that no JWT has, such as a line break')
    return status === 'active' ? { accepted: true, steps } : failed(`The application is ${status}`)
  }

  return { add, test }
}
