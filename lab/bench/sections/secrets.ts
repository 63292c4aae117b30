import type { Bench, Running } from '../bench.ts'
import { cpuRatio } from '../row.ts'
import { defineSection } from '../section.ts'
import { atMost } from '../targets.ts'
import { tokenRequest } from '../world/requests.ts'

/** The cost of refusing a wrong secret, which by default only the first ones have: guessing must not slow the server down. */
export const secrets = defineSection({
  name: 'secrets',
  title: 'A wrong secret against the correct one, 64 connections',
  contenders: 2,
  others: 2,
  preparation: 2,
  run,
  targets: [
    {
      asked: 'a wrong secret at most the CPU time of the correct one',
      value: ({ wrong, correct }) => cpuRatio(wrong, correct),
      isMet: atMost(1),
    },
  ],
})

const CONNECTIONS = 64

async function run(bench: Bench) {
  const { ours, other } = await bench.versions('secrets', { env: { FAILURE_LIMIT: 'off' } })
  const own = contendersOf(bench, ours)
  const others = other && contendersOf(bench, other)
  const rows = await bench.measure({
    correct: { name: 'correct secret', ...own.correct, other: others?.correct },
    wrong: { name: 'wrong secret', ...own.wrong, base: 'correct', other: others?.wrong },
  })
  return { rows }
}

/** A server with a correct and a wrong secret. */
export function contendersOf(bench: Bench, { server, data }: Running) {
  const application = data.applications[0]
  const wrong = { ...application, client_secret: application.client_secret.replaceAll(/./g, 'x') }
  return {
    correct: { server, ...bench.load(CONNECTIONS, [tokenRequest(application)]) },
    wrong: { server, ...bench.load(CONNECTIONS, [tokenRequest(wrong)], 401) },
  }
}
