/** A message to NOTICE_URL_FILE. Its matter is over if the newest notice about it has the event `ended`. */
export interface Notice {
  /** Counts up. */
  readonly id: number
  /** What it is about; empty for one that counts others. */
  readonly matter: string
  readonly event: 'began' | 'continues' | 'ended' | 'counted'
  /** Of those that are due, one with the highest number is posted first. */
  readonly priority: number
  /** A matter with stages is repeated in each of them; empty for one without. */
  readonly stage: string
  /** The webhook-id, the same in each attempt. */
  readonly messageId: string
  /** JSON. */
  readonly body: string
  readonly at: number
  /** When a node last saw the matter, at most a minute out of date. */
  readonly seenAt: number
  /** From when on it may be posted, or posted again; null if nothing is left to do. */
  readonly dueAt: number | null
  readonly attempts: number
  /** Why the last attempt failed; null while one is under way. */
  readonly problem: string | null
  /** What the receiver answered to the last attempt; null if nothing. */
  readonly status: number | null
  readonly sentAt: number | null
}

/** Notices that are new or differ, and the ids of those that are no longer needed. */
export interface NoticeChanges {
  readonly save: readonly Notice[]
  readonly remove?: readonly number[]
}

/** The notice that waits longest, and how many wait. */
export interface Undelivered extends Pick<Notice, 'at' | 'attempts' | 'problem'> {
  readonly count: number
}
