import type { Audit, Author } from '../../src/domain/audit-event.ts'

/** The author of changes in tests. */
export const AUTHOR: Author = { actor: 'tester', origin: 'command line', remoteAddress: 'a-machine' }

/** For changes whose author does not matter. */
export const AUDIT: Audit = { author: AUTHOR, at: 1_800_000_000_000 }
