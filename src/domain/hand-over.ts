/** Where hand-over links lead, on the public port. */
export const HAND_OVER_PATH = '/hand-over'

export const HAND_OVER_LIFETIME = 60 * 60_000

/** An unused link that shows a new secret of its application once, without its code. */
export interface HandOverLink {
  readonly id: number
  /** The operator; for commands, the operating system's user. */
  readonly madeBy: string
  readonly createdAt: number
  readonly endsAt: number
  /** How long the other secrets stay valid once it is used. */
  readonly overlapSeconds: number
}
