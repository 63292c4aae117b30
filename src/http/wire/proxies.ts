import { BlockList, isIP, isIPv4 } from 'node:net'
import { isPrivate, withoutZone } from '../../domain/address.ts'
import type { Observer } from '../../domain/events.ts'

/** More proxies than any network has; a bound all the same. */
const CAPACITY = 1024

export type Proxies = ReturnType<typeof createProxies>

/**
 * The proxies in front of this server: those that TRUST_PROXY names, and those that it should name and does not, as far as
 * they are known: private addresses from which an X-Forwarded-For came. All clients behind one of these have its address.
 * Each is said once.
 */
export function createProxies({ trustProxy, observe }: { trustProxy: false | string[]; observe: Observer }) {
  const isTrusted = rangesOf(trustProxy || [])
  const untrusted = new Set<string>()
  let lastOther = ''

  /** Takes note of the other side of a connection on which an X-Forwarded-For came. */
  function notice(peer: string): void {
    const remoteAddress = withoutZone(peer)
    if (remoteAddress === lastOther || untrusted.has(remoteAddress) || untrusted.size >= CAPACITY) return
    if (isPrivate(remoteAddress) && !isTrusted(remoteAddress)) {
      untrusted.add(remoteAddress)
      observe({ type: 'proxy not trusted', remoteAddress, setting: 'TRUST_PROXY' })
    } else lastOther = remoteAddress
  }

  /** Whether an address is a proxy's, as far as is known, and so that of many clients. */
  function isShared(address: string): boolean {
    const remoteAddress = withoutZone(address)
    return untrusted.has(remoteAddress) || isTrusted(remoteAddress)
  }

  return { notice, isShared }
}

function rangesOf(ranges: string[]): (address: string) => boolean {
  const list = new BlockList()
  for (const range of ranges) {
    const [address = '', bits] = range.split('/')
    if (bits === undefined) list.addAddress(address, familyOf(address))
    else list.addSubnet(address, Number(bits), familyOf(address))
  }
  return (address) => isIP(address) !== 0 && list.check(address, familyOf(address))
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv4(address) ? 'ipv4' : 'ipv6'
}
