/** This many entries are kept at least, twice as many at most. A token takes 300 bytes. */
const CAPACITY = 25_000

/** The same for misses. Small, for anybody can ask for names that do not exist; longer ones than any are not kept. */
export const MISS_CAPACITY = 1000
const LONGEST_NAME = 256

export interface CachedLookup<Key, Value> {
  (key: Key): Value | undefined
  clear(): void
}

export interface CacheOptions {
  capacity?: number
  /** 0: misses are not cached. */
  missCapacity?: number
}

/** Caches what a look-up finds, and that it finds nothing, until it is cleared. */
export function cacheLookup<Key, Value>(
  lookUp: (key: Key) => Value | undefined,
  { capacity = CAPACITY, missCapacity = MISS_CAPACITY }: CacheOptions = {},
): CachedLookup<Key, Value> {
  const found = createCache<Key, Value>(capacity)
  const missing = createCache<Key, true>(missCapacity)

  function cached(key: Key): Value | undefined {
    const value = found.get(key)
    // Misses are cached too, so that timing does not reveal whether a name exists.
    if (value !== undefined || missing.get(key)) return value
    const looked = lookUp(key)
    // Where misses are kept, keys are names that strangers send.
    const kept = missCapacity > 0 ? onItsOwn(key) : key
    if (looked !== undefined) found.set(kept, looked)
    else if (missCapacity > 0 && !isLong(key)) missing.set(kept, true)
    return looked
  }

  cached.clear = () => {
    found.clear()
    missing.clear()
  }
  return cached
}

/** A map that drops what was not read lately: when there are `capacity` recent entries, they become the old ones. */
export function createCache<Key, Value>(capacity = CAPACITY) {
  let recent = new Map<Key, Value>()
  let old = new Map<Key, Value>()

  function get(key: Key): Value | undefined {
    const value = recent.get(key)
    if (value !== undefined) return value
    const aged = old.get(key)
    if (aged !== undefined) set(key, aged)
    return aged
  }

  function set(key: Key, value: Value): void {
    if (recent.size >= capacity) {
      old = recent
      recent = new Map()
    }
    recent.set(key, value)
  }

  function clear(): void {
    recent.clear()
    old.clear()
  }

  return { get, set, clear }
}

export function isLong(key: unknown): boolean {
  return typeof key === 'string' && key.length > LONGEST_NAME
}

/** A text that is part of a longer one, such as the body of a request, would keep all of that in memory. */
export function onItsOwn<Key>(key: Key): Key {
  return typeof key === 'string' ? (Buffer.from(key).toString() as Key) : key
}
