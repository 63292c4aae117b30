import type { Trial } from '../trial.ts'
import { audit } from './audit.ts'
import { clock } from './clock.ts'
import { crash } from './crash.ts'
import { disk } from './disk.ts'
import { flood } from './flood.ts'
import { fuzz } from './fuzz.ts'
import { power } from './power.ts'
import { promises } from './promises.ts'
import { reload } from './reload.ts'
import { share } from './share.ts'
import { soak } from './soak.ts'
import { timing } from './timing.ts'
import { upgrade } from './upgrade.ts'

/** All trials, in the order in which they run. */
export const trials: Trial[] = [
  crash,
  power,
  disk,
  reload,
  clock,
  audit,
  fuzz,
  flood,
  share,
  timing,
  promises,
  upgrade,
  soak,
]
