import { Readable } from 'node:stream'
import { Command } from 'commander'
import t from 'tap'
import { operatingSystemUser } from '../../../src/commands/shared/administer.ts'
import { runCommand } from '../../../src/commands/shared/process.ts'
import { OperatorError } from '../../../src/domain/operator-error.ts'
import { StoreUnavailable } from '../../../src/domain/store.ts'

/** Runs a command that throws this. */
async function failWith(error: Error) {
  let err = ''
  const write = (text: string) => (err += text)
  const program = new Command('program').action(() => {
    throw error
  })
  const terminal = { env: {}, stdin: Readable.from([]), stdout: { write }, stderr: { write } }
  return { status: await runCommand(program, [], terminal), err }
}

t.test('Errors: what an operator can mend is one sentence, with status 1', async (t) => {
  for (const error of [new OperatorError('There is no suite x.'), new StoreUnavailable('The disk is full.')]) {
    t.strictSame(await failWith(error), { status: 1, err: `${error.message}\n` })
  }
})

t.test('Errors: everything else says that it is a bug and shows its stack, with status 1', async (t) => {
  const { status, err } = await failWith(new TypeError('x is not a function'))
  t.equal(status, 1)
  t.match(err, /^This is a bug in token-server\..*\nTypeError: x is not a function\n +at .*process\.test\.ts/)
})

t.test('Audit: a user without a name is named by its number', async (t) => {
  const nameless = () => {
    throw new Error('ENOENT')
  }
  t.match(operatingSystemUser(nameless), /^uid \d+$/)
})
