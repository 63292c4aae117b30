import { createHmac } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { OperatorError } from '../domain/operator-error.ts'
import { isPlainTextUrl } from '../web/address.ts'
import type { Delivery } from './notices.ts'

/** The files that say where notices go, and how they are signed. */
export interface ReceiverFiles {
  readonly urlFile: string
  readonly secretFile: string | undefined
}

/** Where notices go. The URL is a secret; only its host may be shown. */
export interface Receiver {
  readonly url: URL
  readonly key: Buffer | undefined
}

/** How long a receiver may take to answer. Milliseconds. */
const TIMEOUT_MS = 10_000

/** Refuses a message with any field but `text`. */
const TEXT_ONLY = 'chat.googleapis.com'

/** Reads the files, which may have changed. Throws OperatorError, which never shows what is in them. */
export async function readReceiver({ urlFile, secretFile }: ReceiverFiles): Promise<Receiver> {
  const text = await readSecret('NOTICE_URL_FILE', urlFile)
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol) || isPlainTextUrl(text)) {
    throw wrongFile('NOTICE_URL_FILE', urlFile, 'must have an https URL and nothing else (http for this machine only)')
  }
  return { url, key: secretFile === undefined ? undefined : await readKey(secretFile) }
}

async function readKey(file: string): Promise<Buffer> {
  const text = (await readSecret('NOTICE_SECRET_FILE', file)).replace(/^whsec_/, '')
  const key = Buffer.from(text, 'base64')
  const isKey = /^[A-Za-z\d+/]+={0,2}$/.test(text) && key.length >= 24 && key.length <= 64
  if (!isKey) throw wrongFile('NOTICE_SECRET_FILE', file, 'must have 24 to 64 bytes in base64, with or without whsec_')
  return key
}

async function readSecret(setting: string, file: string): Promise<string> {
  const content = await readFile(file, 'utf8').catch(({ code }: NodeJS.ErrnoException) => {
    throw wrongFile(setting, file, `cannot be read: ${code}`)
  })
  return content.trim()
}

function wrongFile(setting: string, file: string, problem: string): OperatorError {
  return new OperatorError(`${setting}, ${file}, ${problem}.`)
}

/**
 * Posts a notice, signed as Standard Webhooks say (https://www.standardwebhooks.com). Resolves to what came of it; redirects are
 * not followed. Rejects only when `signal` aborts.
 */
export async function postNotice(
  { url, key }: Receiver,
  { messageId, body }: { messageId: string; body: string },
  { now, signal, timeout = TIMEOUT_MS }: { now: number; signal?: AbortSignal; timeout?: number },
): Promise<Delivery & { status?: number }> {
  const late = AbortSignal.timeout(timeout)
  const content = url.hostname === TEXT_ONLY ? JSON.stringify({ text: JSON.parse(body).text }) : body
  const seconds = Math.floor(now / 1000)
  const signature = key && createHmac('sha256', key).update(`${messageId}.${seconds}.${content}`).digest('base64')
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'oauth-token-server',
    'webhook-id': messageId,
    'webhook-timestamp': String(seconds),
    ...(signature && { 'webhook-signature': `v1,${signature}` }),
  }
  const request = { method: 'POST', headers, body: content, redirect: 'manual' } as const
  try {
    const response = await fetch(url, { ...request, signal: signal ? AbortSignal.any([late, signal]) : late })
    // What it says is not needed, and may never end.
    await response.body?.cancel().catch(() => {})
    const { ok, status } = response
    if (ok) return { problem: undefined, status }
    const redirect = status >= 300 && status < 400 ? ', a redirect, which is not followed' : ''
    return { problem: `it answered ${status}${redirect}`, status, retryAfter: waitOf(response.headers, now) }
  } catch (error) {
    signal?.throwIfAborted()
    if (late.aborted) return { problem: `it did not answer within ${timeout / 1000} s` }
    const { cause = error } = error as Error
    return { problem: (cause as Error).message || String((cause as NodeJS.ErrnoException).code) }
  }
}

/** Retry-After (RFC 9110 §10.2.3): seconds or a date, in milliseconds from now. */
function waitOf(headers: Headers, now: number): number | undefined {
  const text = headers.get('retry-after') ?? ''
  const wait = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now
  return Number.isNaN(wait) ? undefined : wait
}
