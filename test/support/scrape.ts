import { PREFIX } from '../../src/telemetry/metrics/catalogue.ts'

/** What a metrics page has: each number under its name, without the prefix, and its labels as they are written. */
export function parseMetrics(text: string): Map<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(
    lines.map((line) => {
      const at = line.lastIndexOf(' ')
      return [line.slice(0, at).replace(PREFIX, ''), Number(line.slice(at + 1))]
    }),
  )
}

/** What the ops listener at this address shows. */
export async function scrape(ops: string): Promise<Map<string, number>> {
  return parseMetrics(await (await fetch(`${ops}/metrics`)).text())
}
