import t from 'tap'
import { OperatorError } from '../../../src/domain/operator-error.ts'
import { withSentence } from '../../../src/store/sqlite/copy.ts'

t.test('Copies: what an operator can mend is one sentence, and a bug stays a bug', async (t) => {
  const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { syscall: 'write' })
  t.match(
    withSentence('Nothing was done', full),
    new OperatorError('Nothing was done: ENOSPC: no space left on device, write.'),
  )
  const sentence = withSentence('Nothing was done', new OperatorError('The file is wrong.'))
  t.match(sentence, new OperatorError('Nothing was done: The file is wrong.'))
  const bug = new TypeError('x is not a function')
  t.equal(withSentence('Nothing was done', bug), bug)
})
