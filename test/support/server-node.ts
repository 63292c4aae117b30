import type { ServerNode } from '../../src/domain/statistics.ts'

/** A node's report, with some fields overridden. */
export function serverNode(more: Partial<ServerNode> = {}): ServerNode {
  return {
    id: '0190b5a0-0000-4000-8000-000000000001',
    name: 'web-1:8080',
    version: '1.2.3',
    startedAt: 1000,
    lastSeenAt: 2000,
    workers: { expected: 2, serving: 1 },
    lastMinute: { tokens: 3, checks: 4, refusals: 5 },
    ...more,
  }
}
