/** Tells the time in milliseconds since the epoch. Always an argument, so that a test can set it. */
export type Clock = () => number

/** How far apart the clocks of nodes and their database may be, in milliseconds. */
export const CLOCK_TOLERANCE = 1000
