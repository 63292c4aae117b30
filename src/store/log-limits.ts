/** How large SQLite's write-ahead log may be, in bytes: from the first on it is larger than where checkpoints work. */
export const LARGE_LOG = 64 * 1024 ** 2

/** From here on nothing is written: 64 times a normal log; a start has to read it all. */
export const FULL_LOG = 1024 ** 3
