import { globSync } from 'node:fs'

/** Coverage is asked of the program. What tests use of lab/ is tried by the lab's own runs. */
export default () => globSync('src/**/*.ts')
