import { isPrivate } from '../../domain/address.ts'
import type { Observer } from '../../domain/events.ts'

/** More proxies than any network has; a bound all the same. */
const CAPACITY = 1024

export type UntrustedProxies = ReturnType<typeof createUntrustedProxies>

/**
 * The proxies that should be among TRUST_PROXY and are not, as far as they are known: private addresses from which an
 * X-Forwarded-For came. All clients behind one have its address. Each is said once.
 */
export function createUntrustedProxies({ observe }: { observe: Observer }) {
  const addresses = new Set<string>()
  let lastOther = ''

  function notice(remoteAddress: string): void {
    if (addresses.has(remoteAddress) || remoteAddress === lastOther || addresses.size >= CAPACITY) return
    if (isPrivate(remoteAddress)) {
      addresses.add(remoteAddress)
      observe({ type: 'proxy not trusted', remoteAddress, setting: 'TRUST_PROXY' })
    } else lastOther = remoteAddress
  }

  return {
    /** Takes note of an address from which an X-Forwarded-For came, if it is a proxy's. */
    notice,
    /** Whether an address is known to be one. */
    has: (remoteAddress: string) => addresses.has(remoteAddress),
  }
}
