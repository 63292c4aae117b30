import { type Claims, type FederatedRule, shown } from '../domain/federation.ts'
import { valuesOf } from '../domain/identity.ts'

/** Of the claims that the rule names, the first that does not match, and how many match before it; undefined if all do. */
export function mismatchOf(
  { issuer, audience, subject, claims: further }: FederatedRule,
  claims: Claims,
  publicUrl: string,
): { matched: number; detail: string } | undefined {
  const wanted = [
    ['iss', issuer],
    ['aud', audience ?? publicUrl],
    ['sub', subject],
    ...Object.entries(further),
  ] as const
  for (const [matched, [name, value]] of wanted.entries()) {
    if (matches(name, value, claims)) continue
    const [found = claims[name]] = name === 'aud' ? [] : valuesOf(claims, name)
    return { matched, detail: `${name} is ${shown(found)}, not ${shown(value)}` }
  }
  return undefined
}

function matches(name: string, value: string, claims: Claims): boolean {
  if (name === 'iss') return claims.iss === value
  if (name === 'sub') return typeof claims.sub === 'string' && matchesSubject(value, claims.sub)
  if (name === 'aud') {
    const audiences = [claims.aud].flat()
    return audiences.includes(value) && audiences.every((audience) => typeof audience === 'string')
  }
  return valuesOf(claims, name).includes(value)
}

/** Whether a subject is this one. Segments end at `:` and `/`; a `*` stands for one that is not empty, never for more. */
export function matchesSubject(pattern: string, subject: string): boolean {
  const [wanted, segments] = [pattern, subject].map((text) => text.split(/([:/])/)) as [string[], string[]]
  const isWanted = (segment: string, at: number) => segment === segments[at] || (segment === '*' && segments[at] !== '')
  return wanted.length === segments.length && wanted.every(isWanted)
}

/** How far the clock of an issuer may differ, in seconds. */
export const TOLERANCE_S = 60

/** How long a JWT may live, in seconds: 24 hours, and ten minutes because Entra ID dates `iat` back by five. */
const LONGEST_LIFE_S = 24 * 60 * 60 + 600

/** What is wrong with the times of a JWT (RFC 7519 §4.1); undefined if nothing is. `now`: in milliseconds. */
export function timeProblem(claims: Claims, now: number): string | undefined {
  const seconds = now / 1000
  const [exp, nbf = 0, iat = seconds] = ['exp', 'nbf', 'iat'].map((name) => claims[name])
  for (const [name, value] of Object.entries({ exp, nbf, iat })) {
    // The year 5138: greater numbers are milliseconds.
    if (typeof value !== 'number' || Math.abs(value) >= 1e11) return `${name} is ${shown(value)}, not a time`
    if (name !== 'exp' && value > seconds + TOLERANCE_S) return `${name} is ${dateOf(value)}, in the future`
  }
  const [end, begin] = [exp, iat] as [number, number]
  if (end <= seconds - TOLERANCE_S) return `exp is ${dateOf(end)}, in the past`
  return end - begin > LONGEST_LIFE_S ? `it is valid for ${Math.round(end - begin)} s, more than a day` : undefined
}

function dateOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString()
}
