import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { settings } from '../../src/config.ts'

const dockerfile = readFileSync(join(import.meta.dirname, '../../Dockerfile'), 'utf8')

/** The defaults of the image: `HOST` and its value. */
const IN_IMAGE = new Map(
  [...dockerfile.matchAll(/(?<=^ENV .*)([A-Z_]+)=(\S+)/gm)].map(([, name, value]) => [name, value]),
)

/** docs/operations/settings.md: a table of every setting. */
export function settingsPage(): string {
  const rows = Object.entries(settings).map(([name, { default: byDefault, meaning }]) => {
    const inImage = IN_IMAGE.has(name) ? ` (the image: \`${IN_IMAGE.get(name)}\`)` : ''
    return `| \`${name}\` | \`${byDefault}\`${inImage} | ${meaning} |`
  })
  return `# Settings

<!-- Written by \`npm run docs\` from src/config.ts. Do not edit. -->

From the environment or a file [\`.env\`](../../.env.example) in the working directory; the environment takes precedence. The server
does not start with a wrong value.

| setting | default | meaning |
|---|---|---|
${rows.join('\n')}
`
}
