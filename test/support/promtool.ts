import { needs } from './needs.ts'

/** For tests that ask Prometheus's own tool. */
export const PROMTOOL = { skip: needs('promtool') }
