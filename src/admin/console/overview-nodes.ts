import type { NodeStatistics, Statistics } from '../../domain/statistics.ts'
import { table } from './components/table.ts'
import { badge, name, section, time } from './components/words.ts'
import { count, NONE } from './figures.ts'
import { type Html, html, type Part } from './html.ts'

/** The nodes that share the store. Not updated live. False if there is only one. */
export function nodesSection({ nodes, at }: Statistics): Html | false {
  if (nodes.length < 2) return false
  const present = nodes.filter(({ isGone }) => !isGone)
  const sum = (of: (node: NodeStatistics) => number) => count(present.reduce((sum, node) => sum + of(node), 0))
  return section(
    'nodes',
    'Nodes',
    html`${table(
      'The nodes that share the database',
      [
        { label: 'Node' },
        { label: 'Version' },
        { label: 'Processes', kind: 'number' },
        { label: 'Tokens/min', kind: 'number' },
        { label: 'Checks/min', kind: 'number' },
        { label: 'Refusals/min', kind: 'number' },
        { label: 'Last seen' },
      ],
      nodes.map(row),
    )}
<p class="quiet-text">Together in the last minute: ${sum(({ lastMinute }) => lastMinute.tokens)} tokens, ${sum(({ lastMinute }) => lastMinute.checks)} checks, ${sum(({ lastMinute }) => lastMinute.refusals)} refusals. As of ${time(at)}; reload for newer figures. A node without <code>ADMIN_ADDRESS</code> is not listed.</p>`,
  )
}

function row({ name: called, version, isThis, isGone, workers, lastMinute, lastSeenAt }: NodeStatistics): Part[] {
  const { tokens, checks, refusals } = lastMinute
  const figures = [`${count(workers.serving)} of ${count(workers.expected)}`, ...[tokens, checks, refusals].map(count)]
  return [
    html`${name(called)} ${isThis && badge('this node', 'good')}${isGone && badge('gone', 'bad')}`,
    version,
    ...(isGone ? figures.map(() => NONE) : figures),
    time(lastSeenAt),
  ]
}
