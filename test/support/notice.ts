import { writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { Notice } from '../../src/domain/notice.ts'
import { temporaryFolder } from './temporary-folder.ts'
import { START } from './world.ts'

/** A stored notice that waits, with some fields overridden. */
export function notice(more: Partial<Notice> = {}): Notice {
  const id = more.id ?? 1
  return {
    ...{ id, matter: 'no backup', event: 'began', priority: 0, stage: '', messageId: `msg_${id}` },
    body: JSON.stringify({ text: 'No backup', event: 'began', title: 'No backup', since: '2027', server: 'web-1:80' }),
    ...{ at: START, seenAt: START, dueAt: START, attempts: 0, problem: null, status: null, sentAt: null },
    ...more,
  }
}

/** Writes the URL, and perhaps the secret, to files that the environment names. */
export function noticeFiles(t: Test, url: string, secret?: string) {
  const folder = temporaryFolder(t)
  const write = (name: string, content: string) => {
    writeFileSync(join(folder, name), content)
    return join(folder, name)
  }
  return {
    NOTICE_URL_FILE: write('url', url),
    ...(secret !== undefined && { NOTICE_SECRET_FILE: write('secret', secret) }),
  }
}

export interface Received {
  headers: IncomingHttpHeaders
  text: string
  json: Record<string, unknown>
}

type Answer = (response: ServerResponse) => void

/** A receiver of notices. `answer` can be replaced; `url` is as it is in the file. */
export async function startReceiver(t: Test, port = 0) {
  const received: Received[] = []
  const receiver = { answer: ((response) => response.writeHead(204).end()) as Answer }
  const server = createServer(async (request, response) => {
    const text = (await request.toArray()).join('')
    received.push({ headers: request.headers, text, json: JSON.parse(text) })
    receiver.answer(response)
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const close = () => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  }
  t.teardown(close)
  const { port: bound } = server.address() as AddressInfo
  return Object.assign(receiver, { received, close, port: bound, url: `http://127.0.0.1:${bound}/hook/S3CRET?key=K3Y` })
}
