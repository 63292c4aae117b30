import { readFileSync } from 'node:fs'
import { openGroup } from './group.ts'
import type { RequestList, Run, RunFigures } from './protocol.ts'

// The load program: a process of its own, which makes one run for each message and answers with its figures.

/** How long the last answers may take after a run's seconds, in milliseconds. */
const PATIENCE = 5000

const known = new Map<string, Buffer[]>()

function requestsOf({ file }: RequestList): Buffer[] {
  const requests = known.get(file) ?? JSON.parse(readFileSync(file, 'utf8')).map((text: string) => Buffer.from(text))
  known.set(file, requests)
  return requests
}

async function run({ port, seconds, groups }: Run): Promise<RunFigures> {
  for (const { lists } of groups) lists.forEach(requestsOf)
  let over = false
  const startedAt = performance.now()
  const before = process.cpuUsage()
  const open = groups.map((group) => openGroup(group, { port, requestsOf, isOver: () => over }))
  const figures = new Promise<RunFigures>((resolve) => {
    setTimeout(() => {
      over = true
      const measured = (performance.now() - startedAt) / 1000
      const { user, system } = process.cpuUsage(before)
      const giveUp = setTimeout(() => open.map(({ abandon }) => abandon()), PATIENCE)
      Promise.all(open.map(({ ended }) => ended)).then(() => {
        clearTimeout(giveUp)
        resolve({ groups: open.map((group) => group.figures(measured)), cpuShare: (user + system) / 1e6 / measured })
      })
    }, seconds * 1000)
  })
  return figures
}

process.on('message', async (message: Run) => process.send?.(await run(message)))
process.on('disconnect', () => process.exit())
