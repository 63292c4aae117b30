import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { type Audit, IDEMPOTENCY_LIFETIME, IdempotencyKeyTaken } from '../domain/audit-event.ts'
import { OperatorError } from '../domain/operator-error.ts'
import { digestGenerated } from '../domain/secret.ts'
import type { Context } from './context.ts'

/** A call that can be retried, because its answer contains a secret and may get lost. */
export interface RepeatableCall {
  /** Chosen by the caller: the same for a retry, a new one for every other call. */
  key: string
  /** What the caller authenticated with: an admin key or a session reference. */
  credential: string
  /** Method, path and body. */
  request: string
}

export interface Repeatable {
  idempotency?: RepeatableCall | undefined
  /** Called if an earlier answer was returned and nothing was changed. */
  onRepetition?: (() => void) | undefined
}

const CIPHER = 'aes-256-gcm'
const IV_BYTES = 12
const TAG_BYTES = 16

/**
 * Makes a change at most once per idempotency key: the same call within 24 hours gets the same answer. `make` must pass
 * `auditOf(answer)` to the store, so that the sealed answer is stored in the same transaction. Throws OperatorError if the
 * key was used for another request or with another credential.
 */
export async function once<Answer>(
  { store, now, audit }: Context,
  { idempotency: call, onRepetition }: Repeatable,
  make: (auditOf: (answer: Answer) => Audit) => Promise<Answer>,
): Promise<Answer> {
  if (!call) return make(audit)
  const digest = digestGenerated(JSON.stringify([audit().author.actor, call.key]))
  for (;;) {
    const sealed = await store.findSealedAnswer(digest, now() - IDEMPOTENCY_LIFETIME)
    if (sealed !== undefined) {
      const answer = open(sealed, call, digest) as Answer
      onRepetition?.()
      return answer
    }
    try {
      return await make((answer) => ({ ...audit(), idempotency: { digest, sealed: seal(answer, call, digest) } }))
    } catch (error) {
      // A concurrent retry of this call was faster: the next pass finds its answer.
      if (!(error instanceof IdempotencyKeyTaken)) throw error
    }
  }
}

/** The encryption key is derived from the caller's credential, which the database does not have. */
function seal(answer: unknown, call: RepeatableCall, digest: string): string {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv(CIPHER, encryptionKey(call), iv).setAAD(additionalData(call, digest))
  const text = Buffer.concat([cipher.update(JSON.stringify(answer)), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), text]).toString('base64url')
}

/** Throws OperatorError if the answer belongs to another call or another caller. */
function open(sealed: string, call: RepeatableCall, digest: string): unknown {
  const bytes = Buffer.from(sealed, 'base64url')
  const text = IV_BYTES + TAG_BYTES
  const iv = bytes.subarray(0, IV_BYTES)
  const decipher = createDecipheriv(CIPHER, encryptionKey(call), iv, { authTagLength: TAG_BYTES })
    .setAAD(additionalData(call, digest))
    .setAuthTag(bytes.subarray(IV_BYTES, text))
  try {
    return JSON.parse(Buffer.concat([decipher.update(bytes.subarray(text)), decipher.final()]).toString())
  } catch (cause) {
    throw new OperatorError(
      'This idempotency key was used for another request, or by another login or admin key: use a new one.',
      { kind: 'idempotency key reused', cause },
    )
  }
}

function encryptionKey({ credential, key }: RepeatableCall): Buffer {
  return Buffer.from(hkdfSync('sha256', credential, key, 'oauth-token-server idempotency', 32))
}

/** Additional authenticated data: binds the answer to its row and its request. */
function additionalData({ request }: RepeatableCall, digest: string): Buffer {
  return Buffer.from(JSON.stringify([digest, request]))
}
