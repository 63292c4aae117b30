/** Tells the time in milliseconds since the epoch. Always an argument, so that a test can set it. */
export type Clock = () => number
