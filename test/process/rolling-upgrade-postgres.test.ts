import t from 'tap'
import { testRollingUpgrades } from '../support/rolling-upgrade.ts'
import { startPostgresStore } from '../support/stores.ts'

testRollingUpgrades(t, await startPostgresStore())
