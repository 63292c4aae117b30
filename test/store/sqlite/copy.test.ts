import t from 'tap'
import { OperatorError } from '../../../src/domain/operator-error.ts'
import { withSentence } from '../../../src/store/sqlite/copy.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

t.test('Copies: what an operator can mend is one sentence, and a bug stays a bug', async (t) => {
  const folder = temporaryFolder(t)
  const say = (error: unknown) => withSentence('Nothing was done', error, `${folder}/copy.db`)
  const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { syscall: 'write', code: 'ENOSPC' })
  t.match(
    say(full),
    new OperatorError(`Nothing was done: the disk is full. Free some space on the file system of ${folder}.`),
  )
  t.match(say(new OperatorError('The file is wrong.')), new OperatorError('Nothing was done: The file is wrong.'))
  t.match(say(new OperatorError('it is damaged')), new OperatorError('Nothing was done: it is damaged.'))
  const bug = new TypeError('x is not a function')
  t.equal(say(bug), bug)
})
