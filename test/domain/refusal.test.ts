import t from 'tap'
import { Refusal } from '../../src/domain/refusal.ts'

t.test('Refusal: it has no stack, and leaves the stacks of other errors alone', async (t) => {
  const { stackTraceLimit } = Error
  t.equal(new Refusal('wrong secret').stack, 'Error: wrong secret')
  t.equal(Error.stackTraceLimit, stackTraceLimit)
  t.match(new Error('bug').stack, /\n +at /)
})
