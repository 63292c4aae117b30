import type { Notice } from '../../domain/notice.ts'
import type { Notices } from '../../domain/store.ts'
import * as sql from './statements/notices.ts'
import { ask, type Database, rowsJson, toObjects } from './work.ts'

const COLUMNS = [
  ...(['id', 'matter', 'event', 'priority', 'stage', 'messageId', 'body'] as const),
  ...(['at', 'seenAt', 'dueAt', 'attempts', 'problem', 'status', 'sentAt'] as const),
]

export function createNotices({ askInBackground, transact }: Database): Notices {
  return {
    listNotices: async () => toObjects<Notice>(await askInBackground(sql.listNotices, [0]), ...COLUMNS),

    updateNotices: (decide) =>
      transact(
        function* () {
          const { save, remove = [] } = decide(toObjects<Notice>(yield* ask(sql.listNotices, [1]), ...COLUMNS))
          if (save.length > 0) yield* ask(sql.saveNotices, [rowsJson(save)])
          if (remove.length > 0) yield* ask(sql.removeNotices, [JSON.stringify(remove)])
        },
        { isCopied: true },
      ),
  }
}
