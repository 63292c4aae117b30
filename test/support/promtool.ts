import { spawnSync } from 'node:child_process'

/** For tests that ask Prometheus's own tool. */
export const PROMTOOL = {
  skip: spawnSync('promtool', ['--version']).status !== 0 && 'needs promtool (Debian: prometheus)',
}
