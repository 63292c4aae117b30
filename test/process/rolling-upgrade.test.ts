import t from 'tap'
import { testRollingUpgrades } from '../support/rolling-upgrade.ts'
import { SQLITE } from '../support/stores.ts'

testRollingUpgrades(t, SQLITE)
