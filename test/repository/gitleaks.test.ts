import t from 'tap'
import { generateAdminKey } from '../../src/domain/operator.ts'
import { read } from './files.ts'

const RULES = read('examples/gitleaks/rules.toml')
const [, regex = ''] = /^regex = '''(.+)'''$/m.exec(RULES) ?? []
const [, entropy = ''] = /^entropy = ([\d.]+)$/m.exec(RULES) ?? []
const [, keyword = ''] = /^keywords = \["(\w+)"\]$/m.exec(RULES) ?? []

/** Applies the rule as gitleaks does: keyword, pattern, and entropy above the threshold. */
function found(text: string): string | undefined {
  const secret = text.includes(keyword) ? new RegExp(regex).exec(text)?.[1] : undefined
  return secret !== undefined && entropyOf(secret) > Number(entropy) ? secret : undefined
}

/** Shannon entropy, in bits per character. */
function entropyOf(text: string): number {
  const shares = [...new Set(text)].map((character) => (text.split(character).length - 1) / text.length)
  return -shares.reduce((sum, share) => sum + share * Math.log2(share), 0)
}

t.test('gitleaks: every admin key is found, in any context', async (t) => {
  const missed = Array.from({ length: 500 }, generateAdminKey).flatMap((key) =>
    [key, `ADMIN_KEY=${key}\n`, `{"key":"${key}"}`, `Authorization: Bearer ${key}`, `'${key}',`].filter(
      (text) => found(text) !== key,
    ),
  )
  t.strictSame(missed, [])
})

t.test('gitleaks: text that is not a well-formed key is not found', async (t) => {
  const key = generateAdminKey()
  const others = [key.slice(0, -1), `${key}a`, `x${key}`, key.replace('otsa_', 'otsa-'), `otsa_${'x'.repeat(49)}`]
  for (const text of ['', 'otsa_…', ...others]) t.equal(found(text), undefined, text)
})
