import t from 'tap'
import { traceIdOf } from '../../../src/http/wire/request.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const PARENT = '00f067aa0ba902b7'

t.test('W3C Trace Context §3.2.2: the trace id of a well-formed traceparent is read', async (t) => {
  t.equal(traceIdOf({ traceparent: `00-${TRACE}-${PARENT}-01` }), TRACE)
  t.equal(traceIdOf({ traceparent: `00-${TRACE}-${PARENT}-00` }), TRACE, 'whether it is sampled or not')
  t.equal(traceIdOf({}), undefined)
})

t.test('W3C Trace Context §3.2.2: a malformed traceparent is ignored', async (t) => {
  const malformed = [
    '',
    TRACE,
    `00-${TRACE}-${PARENT}`,
    `00-${TRACE}-${PARENT}-1`,
    `00-${TRACE.toUpperCase()}-${PARENT}-01`,
    `00-${TRACE}-${PARENT.toUpperCase()}-01`,
    `00-${TRACE.slice(1)}-${PARENT}-01`,
    `00-${TRACE}-${PARENT}0-01`,
    `00-${TRACE}-${PARENT}-0x`,
    `0-${TRACE}-${PARENT}-01`,
    `00_${TRACE}_${PARENT}_01`,
    `00-${'0'.repeat(32)}-${PARENT}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE}-${PARENT}-01, 00-${TRACE}-${PARENT}-01`,
  ]
  for (const traceparent of malformed) t.equal(traceIdOf({ traceparent }), undefined, traceparent)
})

t.test('W3C Trace Context §4.3: of a later version what is known is read, and version ff is none', async (t) => {
  for (const [traceparent, expected] of [
    [`cc-${TRACE}-${PARENT}-01`, TRACE],
    [`cc-${TRACE}-${PARENT}-01-`, TRACE],
    [`cc-${TRACE}-${PARENT}-01-what-the-future-has`, TRACE],
    [`cc-${TRACE}-${PARENT}-01.what`, undefined],
    [`cc-${TRACE}-${PARENT}-011`, undefined],
    [`00-${TRACE}-${PARENT}-01-`, undefined],
    [`00-${TRACE}-${PARENT}-01-what`, undefined],
    [`ff-${TRACE}-${PARENT}-01`, undefined],
  ] as const) {
    t.equal(traceIdOf({ traceparent }), expected, traceparent)
  }
})

t.test(
  'Trace Context: a traceparent of more than 128 characters is ignored, for its trace id keeps it in memory',
  async (t) => {
    const future = (length: number) => `cc-${TRACE}-${PARENT}-01-`.padEnd(length, 'x')
    t.equal(traceIdOf({ traceparent: future(128) }), TRACE)
    t.equal(traceIdOf({ traceparent: future(129) }), undefined)
  },
)
