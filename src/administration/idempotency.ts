import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import type { Audit } from '../domain/audit-event.ts'
import { IDEMPOTENCY_LIFETIME, IdempotencyKeyTaken } from '../domain/idempotency.ts'
import { OperatorError } from '../domain/operator-error.ts'
import { digestGenerated } from '../domain/secret.ts'
import type { Context } from './administration.ts'

/** A call that may be repeated, because its answer has a secret and can be lost. */
export interface RepeatableCall {
  /** What the caller calls it: another one for each call that is not a repetition. */
  key: string
  /** What the caller proved himself with: an admin key, or the reference of a session. */
  credential: string
  /** What is asked for: method, path and body. */
  request: string
}

/** The last parameter of what can be repeated. */
export interface Repeatable {
  idempotency?: RepeatableCall | undefined
  /** Is called where the answer is a former one, and nothing was changed. */
  onRepetition?: (() => void) | undefined
}

const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
const IV_BYTES = 12
const TAG_BYTES = 16

/**
 * Makes a change of which the answer has a secret, once: who makes the same call again within a day gets the same answer.
 * `make` gets what it is to tell the store, by the answer that it will give. Throws OperatorError where the key was used for
 * another request, or with another credential.
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
      // The same call was made meanwhile: its answer is there now.
      if (!(error instanceof IdempotencyKeyTaken)) throw error
    }
  }
}

/** The answer under a key that only the caller has, who is nobody in the database. */
function seal(answer: unknown, call: RepeatableCall, digest: string): string {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv(CIPHER, keyOf(call), iv).setAAD(boundTo(call, digest))
  const text = Buffer.concat([cipher.update(JSON.stringify(answer)), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), text]).toString('base64url')
}

/** Throws OperatorError where that was another call, or another caller. */
function open(sealed: string, call: RepeatableCall, digest: string): unknown {
  const bytes = Buffer.from(sealed, 'base64url')
  const text = IV_BYTES + TAG_BYTES
  const decipher = createDecipheriv(CIPHER, keyOf(call), bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES })
    .setAAD(boundTo(call, digest))
    .setAuthTag(bytes.subarray(IV_BYTES, text))
  try {
    return JSON.parse(Buffer.concat([decipher.update(bytes.subarray(text)), decipher.final()]).toString())
  } catch (cause) {
    throw new OperatorError(
      'This idempotency key was used for another request, or by another login or admin key: take a new one.',
      { kind: 'idempotency key reused', cause },
    )
  }
}

function keyOf({ credential, key }: RepeatableCall): Buffer {
  return Buffer.from(hkdfSync('sha256', credential, key, 'oauth-token-server idempotency', KEY_BYTES))
}

/** What the answer belongs to: it cannot be opened as that of another row or another request. */
function boundTo({ request }: RepeatableCall, digest: string): Buffer {
  return Buffer.from(JSON.stringify([digest, request]))
}
