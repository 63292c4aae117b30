import { generateLinkCode, readableName } from '../domain/operator.ts'
import { OperatorError } from '../domain/operator-error.ts'
import { digestGenerated, HAND_OVER_LIFETIME, type HandOverLink } from '../domain/secret.ts'
import { unknownApplication } from './applications.ts'
import type { Context } from './context.ts'
import { once, type Repeatable } from './idempotency.ts'

interface NewHandOver {
  /** Contains the code, and is shown only once. */
  link: string
  endsAt: number
}

/** Links that show a new secret of an application once. `url` is where they lead; undefined if they are off. */
export function createHandOvers(context: Context, url: string | undefined) {
  const { store, now, change } = context

  /** Makes a link. Once it is used, the other secrets end after `overlap` milliseconds at the latest. */
  function make(clientId: string, overlap: number, repeatable: Repeatable = {}): Promise<NewHandOver> {
    if (url === undefined) {
      throw new OperatorError('Hand-over links are off: HANDOVER=on turns them on.')
    }
    return once<NewHandOver>(context, repeatable, async (auditOf) => {
      const endsAt = now() + HAND_OVER_LIFETIME
      const code = generateLinkCode(endsAt)
      const made = { link: `${url}#${code}`, endsAt }
      const audit = auditOf(made)
      const link = { madeBy: audit.author.actor, endsAt, overlapSeconds: Math.floor(overlap / 1000) }
      const { changed } = await change(
        { type: 'hand-over link made', clientId, digest: digestGenerated(code), ...link },
        audit,
      )
      if (!changed) throw unknownApplication(clientId)
      return made
    })
  }

  async function withdraw(clientId: string, linkId: number): Promise<void> {
    if ((await change({ type: 'hand-over link withdrawn', clientId, linkId })).changed) return
    throw new OperatorError(`${clientId} has no unused hand-over link ${linkId}.`, { kind: 'not found' })
  }

  /** `madeBy` is what people read instead of the operator's name. */
  async function list(clientId: string): Promise<HandOverLink[]> {
    const links = await store.listHandOverLinks(clientId)
    const nameOf = async (name: string) => readableName((await store.findOperator(name)) ?? { name, email: null })
    return Promise.all(links.map(async (link) => ({ ...link, madeBy: await nameOf(link.madeBy) })))
  }

  return { isOn: url !== undefined, list, make, withdraw }
}
