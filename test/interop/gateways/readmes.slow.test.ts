import t from 'tap'
import { goesAsWritten, refusesAsWritten } from '../../support/gateway-readme.ts'
import { APACHE, testEachExample } from '../../support/gateways.ts'

const RULES = [
  ['README: every path goes where the table of paths says, by every method', goesAsWritten],
  ['README: every refusal has the status and the body that its table says', refusesAsWritten],
] as const

for (const [rule, run] of RULES) {
  testEachExample(rule, run)
  t.test(`apache: ${rule}`, { skip: APACHE.skip || false }, (t) => run(t, APACHE))
}
