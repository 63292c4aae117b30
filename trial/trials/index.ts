import type { Trial } from '../trial.ts'
import { crash } from './crash.ts'

/** All trials, in the order in which they run. */
export const trials: Trial[] = [crash]
