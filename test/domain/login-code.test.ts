import t from 'tap'
import { endOfLoginCode, generateLoginCode } from '../../src/domain/operator-keys.ts'

const END = Date.UTC(2027, 0, 15, 8, 10, 30)

t.test('Login codes: a code has its expiry, 32 random characters and a checksum', async (t) => {
  const code = generateLoginCode(END + 999)
  t.match(code, /^[A-Za-z0-9]{44}$/)
  t.not(code.slice(6, 38), generateLoginCode(END).slice(6, 38))
  t.equal(endOfLoginCode(code), END)
})

t.test('Login codes: a wrong length or character is malformed', async (t) => {
  const code = generateLoginCode(END)
  for (const text of ['', code.slice(1), `${code}0`, ` ${code}`, `${code}\n`, `${code.slice(0, -1)}-`]) {
    t.equal(endOfLoginCode(text), undefined, text)
  }
  for (let at = 0; at < code.length; at++) {
    const other = code[at] === 'x' ? 'y' : 'x'
    t.equal(endOfLoginCode(`${code.slice(0, at)}${other}${code.slice(at + 1)}`), undefined, `character ${at}`)
  }
})
