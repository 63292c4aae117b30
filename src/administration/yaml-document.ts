import { type Alias, type Document, isAlias, isMap, isNode, isScalar, isSeq, type YAMLMap } from 'yaml'

/** How many values the aliases of a file may repeat. Without a limit, a few hundred bytes can expand to billions. */
const MAX_REPEATED = 1_000_000

export type Fault = [offset: number, words: string]

/** What an anchor names. `size`: how many values that is, or 0 while it is being read. */
interface Anchored {
  value: unknown
  size: number
}

/**
 * Reads the value of a YAML document with its aliases and merge keys (<<). Each value is read once, however often it is repeated.
 * The library's own conversion copies the sources of a merge key each time. Adds what is wrong to `faults`, and repeated keys, of
 * which only the first counts, to `repeatedKeys`.
 */
export function readDocument({ contents }: Document, faults: Fault[], repeatedKeys: Fault[]): unknown {
  const anchors = new Map<string, Anchored>()
  let size = 0
  let repeated = 0

  function read(node: unknown): unknown {
    if (isAlias(node)) return repeat(node)
    const before = size++
    const anchored: Anchored = { value: undefined, size: 0 }
    if (isNode(node) && node.anchor !== undefined) anchors.set(node.anchor, anchored)
    const value = isMap(node) ? readMap(node) : isSeq(node) ? node.items.map(read) : isScalar(node) ? node.value : null
    return Object.assign(anchored, { value, size: size - before }).value
  }

  function repeat(alias: Alias): unknown {
    const anchored = anchors.get(alias.source)
    if (!anchored?.size) faults.push([offsetOf(alias), 'This alias has no anchor before it'])
    else {
      size += anchored.size
      repeated += anchored.size
      if (repeated <= MAX_REPEATED) return anchored.value
    }
    return {}
  }

  function readMap({ items }: YAMLMap): object {
    const merged = new Map<string, unknown>()
    const own = new Map<string, unknown>()
    for (const pair of items) {
      const [key, value] = [read(pair.key), read(pair.value)]
      if (typeof key === 'symbol') merge(value, merged, offsetOf(pair.value))
      else if (key instanceof Object) faults.push([offsetOf(pair.key), 'A key must be text'])
      else if (own.has(String(key))) repeatedKeys.push([offsetOf(pair.key), 'Map keys must be unique'])
      else own.set(String(key), value)
    }
    return Object.fromEntries([...merged, ...own])
  }

  /** Adds the entries of a map, or of each map of a list. The first entry with a key counts. */
  function merge(value: unknown, merged: Map<string, unknown>, offset: number): void {
    const sources: unknown[] = Array.isArray(value) ? value : [value]
    if (!sources.every(isMapping)) faults.push([offset, 'A merge key (<<) needs a map or a list of maps'])
    else for (const [key, one] of sources.flatMap(Object.entries)) if (!merged.has(key)) merged.set(key, one)
  }

  const value = read(contents)
  if (repeated > MAX_REPEATED) {
    faults.push([0, `Its aliases repeat more than ${MAX_REPEATED.toLocaleString('en')} values`])
  }
  return value
}

function isMapping(value: unknown): value is object {
  return value instanceof Object && Object.getPrototypeOf(value) === Object.prototype
}

function offsetOf(node: unknown): number {
  return Number(isNode(node) && node.range?.[0])
}
