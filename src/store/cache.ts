import { detachText } from '../domain/text.ts'

/** A cache keeps at least this many entries and at most twice as many. A cached token takes 300 bytes. */
const CAPACITY = 25_000

/** The same for misses. It is small, because anyone can ask for names that do not exist. */
export const MISS_CAPACITY = 1000

/** Misses of keys with more characters are not cached: no stored name is that long. */
const LONGEST_NAME = 256

export interface CacheOptions {
  capacity?: number
  /** 0 if misses are not cached. */
  missCapacity?: number
}

/** Caches the results of a look-up, misses included, until `clear` is called. */
export function cacheLookup<Key, Value>(
  lookUp: (key: Key) => Value | undefined,
  { capacity, missCapacity = MISS_CAPACITY }: CacheOptions = {},
) {
  const found = createCache<Key, Value>(capacity)
  const missing = createCache<Key, true>(missCapacity)

  function cached(key: Key): Value | undefined {
    const value = found.get(key)
    // Misses are cached too, so that timing does not reveal whether a name exists.
    if (value !== undefined || missing.get(key)) return value
    const result = lookUp(key)
    // Keys of misses come from requests, whose text they must not keep in memory.
    const kept = missCapacity > 0 && typeof key === 'string' ? (detachText(key) as Key) : key
    if (result !== undefined) found.set(kept, result)
    else if (missCapacity > 0 && !isLong(key)) missing.set(kept, true)
    return result
  }

  cached.clear = () => {
    found.clear()
    missing.clear()
  }
  return cached
}

/** A map in two generations. When the recent one has `capacity` entries, it replaces the old one, which is dropped. */
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
