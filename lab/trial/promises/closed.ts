import { join } from 'node:path'
import { operationsOf, readDescription } from '../../reference/description.ts'
import { type Client, openClient } from '../world/client.ts'
import { runCommand } from '../world/data.ts'
import { addOperator, callApi } from '../world/operator.ts'
import type { Cluster } from './cluster.ts'

const DESCRIPTION = join(import.meta.dirname, '../../../docs/openapi-admin.yaml')
const LOCAL = 'Host: localhost\r\n'
const bearer = (credential: string | undefined) => `Authorization: Bearer ${credential}\r\n`

/** Every call of the administration API, without a key and with whatever else an attacker may have. */
export async function closedWithoutKey({ world, store, nodes, adminKey }: Cluster): Promise<void> {
  const [{ port, adminPort }] = nodes as [(typeof nodes)[0]]
  const [application] = store.applications
  const viewer = await addOperator(store, 'viktor', 'viewer')
  const removed = await addOperator(store, 'ben', 'admin')
  await runCommand(store, ['operators', 'remove', 'ben'])
  const [client, publicClient] = [openClient(adminPort), openClient(port)]
  const token = await publicClient.token(application)
  const basic = Buffer.from(`${application.client_id}:${application.client_secret}`).toString('base64')
  const attempts: [to: Client, headers: string, expected: number][] = [
    [client, LOCAL, 401],
    [client, LOCAL + bearer(removed), 401],
    [client, LOCAL + bearer(`${adminKey.slice(0, -1)}${adminKey.endsWith('a') ? 'b' : 'a'}`), 401],
    [client, LOCAL + bearer(application.client_secret), 401],
    [client, LOCAL + bearer(token), 401],
    [client, `${LOCAL}Authorization: Basic ${basic}\r\n`, 401],
    [client, `${LOCAL}Cookie: __Host-session=${adminKey}\r\n`, 401],
    [client, LOCAL + bearer(viewer), 403],
    [client, `Host: attacker.example\r\n${bearer(adminKey)}`, 421],
    [publicClient, LOCAL + bearer(adminKey), 404],
  ]
  const values: Record<string, string> = { client_id: application.client_id, suite_id: 'store', name: 'anna' }
  const operations = operationsOf(readDescription(DESCRIPTION)).map(({ method, path }) => {
    return { method, path: path.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? '1') }
  })
  const state = async () => {
    const parts = ['/audit-events', '/export'].map((path) => callApi(adminPort, adminKey, `GET ${path}`))
    return JSON.stringify(await Promise.all(parts).catch(({ message }: Error) => message))
  }
  const before = await state()
  const open: string[] = []
  let [calls, reads] = [0, 0]
  for (const { method, path } of operations) {
    const request = `${method} ${path} HTTP/1.1\r\nContent-Length: 0\r\n`
    for (const [to, headers, expected] of attempts) {
      if (expected === 403 && method === 'GET') continue
      const status = await to.status(`${request}${headers}\r\n`)
      calls++
      if (status !== expected)
        open.push(`${method} ${path}: ${status} instead of ${expected} (${headers.slice(0, 45)})`)
    }
    // With the key it is a call of this version.
    if (method === 'GET' && (await client.status(`${request}${LOCAL}${bearer(adminKey)}\r\n`)) === 200) reads++
  }
  const isUnchanged = (await state()) === before
  for (const one of [client, publicClient]) one.close()
  world.expect(
    open.length === 0 && isUnchanged && reads > 10,
    `the admin API is closed without a key: ${operations.length} calls, each with ${attempts.length} wrong credentials, hosts or ports; the registry and the audit trail before and after`,
    `${calls} calls, ${open.length} not refused as they must be ${open.slice(0, 5).join('; ')}; ${isUnchanged ? 'nothing' : 'something'} changed; with the key ${reads} reads are answered`,
  )
}
