import type { Bench, Findings, Section } from '../bench.ts'
import { tokenRequest } from '../requests.ts'

/** What it costs this server to refuse a secret: who guesses must not slow it down. */
export const secrets: Section = {
  name: 'secrets',
  title: 'A wrong secret against a good one, 64 connections',
  contenders: 2,
  preparation: 2,
  run,
}

async function run(bench: Bench): Promise<Findings> {
  const data = bench.data('secrets')
  const application = data.applications[0]
  const wrong = { ...application, client_secret: application.client_secret.replaceAll(/./g, 'x') }
  const server = await bench.ours(data)
  const rows = await bench.measure([
    { name: 'good secret', server, groups: [bench.group(64, [tokenRequest(application)])] },
    { name: 'wrong secret', server, groups: [bench.group(64, [tokenRequest(wrong)], 401)], base: 'good secret' },
  ])
  return { rows }
}
