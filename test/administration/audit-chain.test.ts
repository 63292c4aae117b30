import { createPublicKey, generateKeyPairSync, type KeyObject, verify } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parseHead, readAuditKey, readPublicKey, signHead } from '../../src/administration/audit-chain.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { START } from '../support/world.ts'

const HEAD = { id: 7, at: START, hash: 'a-hash' }

const pem = (key: KeyObject) => key.export({ type: key.type === 'private' ? 'pkcs8' : 'spki', format: 'pem' })

function writeKeys(t: Test) {
  const folder = temporaryFolder(t)
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const write = (name: string, content: string | Buffer) => {
    writeFileSync(join(folder, name), content)
    return join(folder, name)
  }
  return { write, key: write('key', pem(privateKey)), publicKey: write('public', pem(publicKey)) }
}

t.test(
  'Audit head: the signature is of the JSON of all other fields, and is checked with the public key',
  async (t) => {
    const files = writeKeys(t)
    const key = await readAuditKey(files.key)
    const { signature, ...head } = signHead(HEAD, START + 1, key)
    const time = (at: number) => new Date(at).toISOString()
    t.strictSame(head, { id: 7, at: time(START), hash: 'a-hash', made_at: time(START + 1) })
    const publicKey = await readPublicKey(files.publicKey)
    t.ok(verify(null, Buffer.from(JSON.stringify(head)), publicKey, Buffer.from(String(signature), 'base64')))
    t.strictSame(parseHead(JSON.stringify({ level: 'info', ...head, signature }), publicKey), HEAD)
    t.strictSame(parseHead(JSON.stringify(head)), HEAD)
    t.strictSame(signHead(HEAD, START + 1), head)

    const other = createPublicKey(generateKeyPairSync('ed25519').privateKey)
    const wrong: [head: object, key: KeyObject][] = [
      [{ ...head, signature }, other],
      [head, publicKey],
      ...Object.keys(head).map((name): [object, KeyObject] => [
        { ...head, [name]: nextOf(name), signature },
        publicKey,
      ]),
    ]
    for (const [head, key] of wrong) {
      t.throws(() => parseHead(JSON.stringify(head), key), {
        name: 'OperatorError',
        message: /^The head is not signed /,
      })
    }
  },
)

function nextOf(name: string) {
  return name === 'id' ? 8 : name === 'hash' ? 'b' : new Date(START + 9).toISOString()
}

t.test('Audit head: what is no head is refused', async (t) => {
  const given = JSON.stringify(signHead(HEAD, START))
  const all = ['', '[]', 'null', '7', '{}', given.replace('7', '"7"'), given.replace('"a-hash"', '1'), given.slice(1)]
  for (const text of [...all, given.replace(/"at":"[^"]*"/, '"at":"soon"')]) {
    t.throws(() => parseHead(text), { name: 'OperatorError', message: /^This is not the JSON of a head: / }, text)
  }
})

t.test('Audit key: it must be an Ed25519 key without a passphrase', async (t) => {
  const { write, ...files } = writeKeys(t)
  t.equal(await readAuditKey(undefined), undefined)
  const { privateKey } = generateKeyPairSync('ed25519')
  const locked = privateKey.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' })
  const rsa = pem(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey)
  for (const file of [write('rsa', rsa), write('locked', locked), write('empty', ''), files.publicKey]) {
    const message = `AUDIT_KEY_FILE, ${file}, must have an Ed25519 key in PEM, without a passphrase.`
    await t.rejects(readAuditKey(file), { name: 'OperatorError', message })
  }
  const gone = `${files.key}-gone`
  await t.rejects(readAuditKey(gone), {
    name: 'OperatorError',
    message: `AUDIT_KEY_FILE, ${gone}, cannot be read: ENOENT.`,
  })
  await t.rejects(readPublicKey(gone), { name: 'OperatorError', message: `${gone} cannot be read: ENOENT.` })
})
