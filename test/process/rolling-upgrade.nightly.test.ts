import t from 'tap'
import { testRollingUpgrades } from '../support/rolling-upgrade.ts'
import { SQLITE, startPostgresStore } from '../support/stores.ts'

for (const store of [SQLITE, await startPostgresStore()]) testRollingUpgrades(t, store)
