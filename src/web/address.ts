import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net'

/** The first six groups of an IPv4-mapped IPv6 address, RFC 4291 §2.5.5.2. */
const MAPPED = [0, 0, 0, 0, 0, 0xffff].join()

/** Loopback, private and link-local addresses: RFC 1918, RFC 6598, RFC 3927, RFC 4193, RFC 4291. */
const PRIVATE =
  '127.0.0.0/8 10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 169.254.0.0/16 100.64.0.0/10 ::1 fc00::/7 fe80::/10'.split(' ')

/**
 * The prefix that limits apply to: an IPv4 address (also from `::ffff:192.0.2.1`), or the /64 of an IPv6 address, because a
 * client can choose the rest. `unknown` (RFC 7239 §6.2) if the text is not an address.
 */
export function prefixOf(address: string): string {
  const family = isIP(address)
  if (family === 4) return address
  if (family === 0) return 'unknown'
  const groups = groupsOf(address)
  if (groups.slice(0, 6).join() === MAPPED) return dotted(groups.slice(6))
  const half = groups.slice(0, 4).map((group) => group.toString(16))
  return `${half.join(':')}::/64`
}

export const isPrivate = rangesOf(PRIVATE)

/** Whether a text is an address without a zone, or a CIDR range that is not /0. */
export function isRange(text: string): boolean {
  const [, address = '', bits = '1'] = /^([^%/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const longest = { 0: 0, 4: 32, 6: 128 }[isIP(address)] as number
  return Number(bits) >= 1 && Number(bits) <= longest
}

/** Returns a function that tells whether an address is one of these, or in one of these CIDR ranges. */
export function rangesOf(ranges: readonly string[]): (address: string) => boolean {
  const list = new BlockList()
  for (const range of ranges) {
    const [address = '', bits] = range.split('/')
    const family = isIPv4(address) ? 'ipv4' : 'ipv6'
    list.addSubnet(address, Number(bits ?? (family === 'ipv4' ? 32 : 128)), family)
  }
  return (address) => isIP(address) !== 0 && list.check(withoutZone(address), isIPv4(address) ? 'ipv4' : 'ipv6')
}

/** The eight groups of an IPv6 address, RFC 4291 §2.2. */
function groupsOf(address: string): number[] {
  // An IPv4 address at its end is converted first.
  const inHex = new URL(`http://[${withoutZone(address)}]`).hostname.slice(1, -1)
  const [left, right] = inHex.split('::').map((half) => (half === '' ? [] : half.split(':'))) as [string[], string[]?]
  const zeros = right ? Array<string>(8 - left.length - right.length).fill('0') : []
  return [...left, ...zeros, ...(right ?? [])].map((group) => Number.parseInt(group, 16))
}

function dotted(groups: number[]): string {
  return groups.flatMap((group) => [group >> 8, group & 255]).join('.')
}

/** Drops the zone, RFC 4007 §11: `fe80::1` for `fe80::1%eth0`. */
export function withoutZone(address: string): string {
  const end = address.indexOf('%')
  return end === -1 ? address : address.slice(0, end)
}

const VIA = ' via '

/** A client that a proxy named, and the proxy: `192.0.2.1 via 127.0.0.1`, because a peer may make up the client. */
export function addressVia(client: string, peer: string): string {
  return client === peer ? peer : `${client}${VIA}${peer}`
}

/** The client in a text from `addressVia`, or the whole of any other text. */
export function clientIn(address: string): string {
  return address.split(VIA, 1)[0] as string
}

/** The peer in a text from `addressVia`, or the whole of any other text. */
export function peerIn(address: string): string {
  const at = address.indexOf(VIA)
  return at === -1 ? address : address.slice(at + VIA.length)
}

export function isLocalHost(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'))
}

/** Whether requests to a URL cross the network without TLS. */
export function isPlainTextUrl(url: string): boolean {
  const { protocol, hostname } = new URL(url)
  return protocol === 'http:' && !isLocalHost(hostname.replace(/^\[|\]$/g, ''))
}

/** Whether a host is 0.0.0.0 or :: (in any spelling), which mean every address of the machine. */
export function isWildcard(host: string): boolean {
  return host === '0.0.0.0' || (isIPv6(host) && /^[0:]+$/.test(host))
}

/** A host as it is written in a URL: an IPv6 address is in brackets (RFC 3986 §3.2.2). */
export function hostInUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}

/**
 * The IP address in a forwarding header; undefined if there is none. Drops the zone (RFC 4007 §11), which may be any text, and
 * the port that some proxies add: `192.0.2.1:5678`, `[2001:db8::1]:5678`.
 */
export function addressIn(text: string): string | undefined {
  const address = isIP(text) === 0 ? withoutPort(text) : text
  return isIP(address) === 0 ? undefined : withoutZone(address)
}

function withoutPort(text: string): string {
  const [, inBrackets, plain] = /^(?:\[([^\]]+)\]|([^:]+))(?::\d{1,5})?$/.exec(text) ?? []
  return inBrackets ?? plain ?? text
}
