import type { Trial } from '../trial.ts'
import { crash } from './crash.ts'
import { fuzz } from './fuzz.ts'
import { power } from './power.ts'

/** All trials, in the order in which they run. */
export const trials: Trial[] = [crash, power, fuzz]
