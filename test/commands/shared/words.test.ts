import t from 'tap'
import { secretView } from '../../../src/administration/views.ts'
import { secretsTable } from '../../../src/commands/shared/text.ts'
import { NOT_SHOWN_YET } from '../../../src/domain/secret.ts'
import { START } from '../../support/world.ts'

const base = { digest: '$sha256$A', createdAt: START, revokedAt: null, lastUsedAt: undefined } as const
const notShown = secretView({ ...base, id: 1, endsAt: NOT_SHOWN_YET, state: 'expired' })
const active = secretView({ ...base, id: 2, endsAt: null, state: 'active' })

t.test('Words: run the seed again is said only where that gives a new secret', async (t) => {
  t.equal(secretsTable([notShown, notShown]).match(/not shown yet: run the seed again/g)?.length, 2)
  t.match(secretsTable([notShown, active]), /never shown *\n/)
  t.notMatch(secretsTable([notShown, active]), /run the seed again/)
})
