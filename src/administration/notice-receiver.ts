import { createHmac } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { OperatorError } from '../domain/operator-error.ts'
import { isPlainTextUrl } from '../web/address.ts'
import { failureTexts, retryAfterIn } from '../web/answers.ts'
import type { Delivery } from './notices.ts'

/** The files that say where notices go, and how they are signed. */
export interface ReceiverFiles {
  readonly urlFile: string
  readonly secretFile: string | undefined
}

const TIMEOUT_MS = 10_000

/** Refuses a message with any field but `text`. */
const TEXT_ONLY = 'chat.googleapis.com'

/** Reads the files, which may have changed. Throws OperatorError, which does not show what is in them, as it is secret. */
export async function readReceiver({ urlFile, secretFile }: ReceiverFiles) {
  const text = await readSecret('NOTICE_URL_FILE', urlFile)
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol) || isPlainTextUrl(text)) {
    throw wrongFile('NOTICE_URL_FILE', urlFile, 'must have an https URL and nothing else (http for this machine only)')
  }
  // fetch refuses such a URL with an error that shows it.
  if (url.username || url.password) {
    throw wrongFile('NOTICE_URL_FILE', urlFile, 'must have a URL without a user and a password')
  }
  if (secretFile === undefined) return { url, key: undefined }
  const secret = (await readSecret('NOTICE_SECRET_FILE', secretFile)).replace(/^whsec_/, '')
  const key = Buffer.from(secret, 'base64')
  if (/^[\w+/]+={0,2}$/.test(secret) && key.length >= 24 && key.length <= 64) return { url, key }
  throw wrongFile('NOTICE_SECRET_FILE', secretFile, 'must have 24 to 64 bytes in base64, with or without whsec_')
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
 * Posts a notice, signed as Standard Webhooks say (https://www.standardwebhooks.com), without following redirects. Resolves to
 * what came of it, without a host if the files are wrong. Rejects only when `signal` aborts.
 */
export async function postNotice(
  files: ReceiverFiles,
  { messageId, body }: { messageId: string; body: string },
  { now, signal, timeout = TIMEOUT_MS }: { now: number; signal?: AbortSignal; timeout?: number },
): Promise<Delivery & { host?: string; isSigned?: boolean }> {
  const late = AbortSignal.timeout(timeout)
  let receiver: URL | undefined
  try {
    const { url, key } = await readReceiver(files)
    receiver = url
    const content = url.hostname === TEXT_ONLY ? JSON.stringify({ text: JSON.parse(body).text }) : body
    const seconds = String(Math.floor(now / 1000))
    const signature = key && createHmac('sha256', key).update(`${messageId}.${seconds}.${content}`).digest('base64')
    const headers = {
      'content-type': 'application/json',
      ...{ 'webhook-id': messageId, 'webhook-timestamp': seconds },
      ...(signature && { 'webhook-signature': `v1,${signature}` }),
    }
    const request = { method: 'POST', headers, body: content, redirect: 'manual' } as const
    const response = await fetch(url, { ...request, signal: signal ? AbortSignal.any([late, signal]) : late })
    // What it says is not needed, and may never end.
    await response.body?.cancel()
    const { ok, status } = response
    const redirect = status >= 300 && status < 400 ? ', a redirect, which is not followed' : ''
    const problem = ok ? undefined : `it answered ${status}${redirect}`
    return {
      problem,
      host: url.host,
      status,
      isSigned: key !== undefined,
      retryAfter: retryAfterIn(response.headers, now),
    }
  } catch (error) {
    signal?.throwIfAborted()
    // A message may show the URL, which is secret.
    const isShown = (text: string) => receiver && text.includes(receiver.pathname + receiver.search)
    const why = failureTexts(error).find((text) => !isShown(text))
    const problem = late.aborted ? `it did not answer within ${timeout / 1000} s` : String(why)
    return { problem, ...(receiver && { host: receiver.host }) }
  }
}
