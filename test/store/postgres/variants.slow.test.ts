import t, { type Test } from 'tap'
import type { Store } from '../../../src/domain/store.ts'
import { needs } from '../../support/needs.ts'
import { DEBIAN_BINARIES, findBinaries } from '../../support/postgres/binaries.ts'
import { locationOf } from '../../support/postgres/location.ts'
import { NO_PGBOUNCER, startPgBouncer } from '../../support/postgres/pgbouncer.ts'
import { startPostgres } from '../../support/postgres/postgres.ts'
import { storeConformance } from '../conformance/conformance.ts'
import { open } from './stores.ts'

const openAt = (t: Test, url: string) => open(t, locationOf(url), { lockTimeout: 2000 })

const skip =
  needs("Debian's PostgreSQL", !!DEBIAN_BINARIES) || (DEBIAN_BINARIES === findBinaries() && 'all tests use it')

t.test("in Debian's PostgreSQL", { skip }, async (t) => {
  const { createDatabase } = await startPostgres(t, { binaries: DEBIAN_BINARIES as string })
  storeConformance(t, { open: async (t) => openAt(t, await createDatabase()) })
})

t.test('behind a PgBouncer that lends a connection for one transaction', { skip: NO_PGBOUNCER }, async (t) => {
  const { createDatabase } = await startPostgres(t)
  const openTwo = async (t: Test): Promise<[Store, Store]> => {
    const url = await startPgBouncer(t, await createDatabase())
    return [await openAt(t, url), await openAt(t, url)]
  }
  storeConformance(t, { open: async (t) => (await openTwo(t))[0], openTwo })
})
