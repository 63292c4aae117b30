import type { Audit, Author } from '../../src/domain/audit-event.ts'

/** Who changes what tests change. */
export const AUTHOR: Author = { actor: 'tester', origin: 'command line', remoteAddress: 'a-machine' }

/** What a store is told of a change whose author does not matter. */
export const AUDIT: Audit = { author: AUTHOR, at: 1_800_000_000_000 }
