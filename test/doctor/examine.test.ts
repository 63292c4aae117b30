import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { examine, worst, worstLast } from '../../src/doctor/examine.ts'
import { error, note, ok, warning } from '../../src/doctor/finding.ts'
import { OperatorError } from '../../src/domain/operator-error.ts'
import { StoreUnavailable } from '../../src/domain/store.ts'

/** A check of the subject x. */
const check = (examine: () => never) => ({ subject: 'x', examine })

function thrown(cause: unknown) {
  return check(() => {
    throw cause
  })
}

t.test('Doctor: a check that throws is a finding, and the others go on', async (t) => {
  const findings = await examine([
    thrown(new OperatorError('There is no file.')),
    thrown(new StoreUnavailable('It is locked.')),
    thrown(Object.assign(new Error('EACCES: …'), { code: 'EACCES', path: '/x/y' })),
    thrown(Object.assign(new Error('EACCES: …'), { code: 'EACCES' })),
    thrown(new TypeError('x is not a function')),
    { subject: 'y', examine: async () => [ok('All is well.'), note('But.', 'Look.')] },
  ])
  t.strictSame(findings, [
    { subject: 'x', level: 'error', text: 'There is no file.' },
    { subject: 'x', level: 'error', text: 'It is locked.' },
    {
      subject: 'x',
      level: 'error',
      text: `This process, uid ${process.getuid?.()}, may not look at what is in /x.`,
      advice: "Run this as the server's user.",
    },
    { subject: 'x', level: 'error', text: 'This could not be looked at: EACCES: ….' },
    { subject: 'x', level: 'error', text: 'This could not be looked at: x is not a function.' },
    { subject: 'y', level: 'ok', text: 'All is well.' },
    { subject: 'y', level: 'note', text: 'But.', advice: 'Look.' },
  ])
})

t.test('Doctor: a check that does not end is a finding, in time', async (t) => {
  const hangs = { subject: 'disk', examine: () => sleep(60_000, [], { ref: false }) }
  t.match(await examine([hangs], { deadline: 20 }), [
    { subject: 'disk', level: 'error', text: 'Nothing was found out within 0.02 s.' },
  ])
})

t.test('Doctor: the worst finding counts, and is the last that people see', async (t) => {
  const [good, remark, doubt, bad] = [ok('a'), note('b'), warning('c'), error('d')]
  t.equal(worst([]), 'ok')
  t.equal(worst([good, remark]), 'note')
  t.equal(worst([doubt, good, remark]), 'warning')
  t.equal(worst([bad, good, doubt]), 'error')
  t.strictSame(worstLast([bad, good, doubt, remark]), [good, remark, doubt, bad])
})
