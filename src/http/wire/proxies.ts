import type { Observer } from '../../domain/events.ts'
import { isPrivate, rangesOf, withoutZone } from '../../web/address.ts'

/** How many untrusted proxies are remembered: more than any network has. */
const CAPACITY = 1024

export type Proxies = ReturnType<typeof createProxies>

/**
 * The proxies in front of this server: those that TRUST_PROXY names, and private addresses that sent an X-Forwarded-For header,
 * which it should name: all clients behind such a proxy appear under its address. Each of them is reported once.
 */
export function createProxies({ trustProxy, observe }: { trustProxy: false | string[]; observe: Observer }) {
  const isTrusted = rangesOf(trustProxy || [])
  const untrusted = new Set<string>()
  let lastOther = ''

  /** Notes the peer of a connection that sent an X-Forwarded-For header. */
  function notice(peer: string): void {
    const remoteAddress = withoutZone(peer)
    if (remoteAddress === lastOther || untrusted.has(remoteAddress) || untrusted.size >= CAPACITY) return
    if (isPrivate(remoteAddress) && !isTrusted(remoteAddress)) {
      untrusted.add(remoteAddress)
      observe({ type: 'proxy not trusted', remoteAddress, setting: 'TRUST_PROXY' })
    } else lastOther = remoteAddress
  }

  /** Whether many clients share an address, because it is a known proxy's. */
  function isShared(address: string): boolean {
    return untrusted.has(withoutZone(address)) || isTrusted(address)
  }

  return { notice, isShared, isTrusted }
}
