import { readFileSync } from 'node:fs'
import { openGroup } from './group.ts'
import type { RequestList, Run, RunFigures } from './protocol.ts'

// The load program: a process of its own that makes one run per message and answers with the figures.

/** The time for the last answers to arrive after a run's seconds. */
const LAST_ANSWERS_TIMEOUT_MS = 5000

const cache = new Map<string, Buffer[]>()

function requestsOf({ file }: RequestList): Buffer[] {
  const requests = cache.get(file) ?? JSON.parse(readFileSync(file, 'utf8')).map((text: string) => Buffer.from(text))
  cache.set(file, requests)
  return requests
}

async function run({ ports, seconds, groups }: Run): Promise<RunFigures> {
  for (const { lists } of groups) lists.forEach(requestsOf)
  let over = false
  const startedAt = performance.now()
  const before = process.cpuUsage()
  const open = groups.map((group) => openGroup(group, { ports, requestsOf, isOver: () => over }))
  const figures = new Promise<RunFigures>((resolve) => {
    setTimeout(() => {
      over = true
      const measured = (performance.now() - startedAt) / 1000
      const { user, system } = process.cpuUsage(before)
      const timeout = setTimeout(() => open.map(({ abandon }) => abandon()), LAST_ANSWERS_TIMEOUT_MS)
      Promise.all(open.map(({ ended }) => ended)).then(() => {
        clearTimeout(timeout)
        resolve({ groups: open.map((group) => group.figures(measured)), cpuShare: (user + system) / 1e6 / measured })
      })
    }, seconds * 1000)
  })
  return figures
}

process.on('message', async (message: Run) => process.send?.(await run(message)))
process.on('disconnect', () => process.exit())
