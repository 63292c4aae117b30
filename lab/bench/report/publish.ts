import { isDeepStrictEqual } from 'node:util'
import { figureOf, figureOfRuns, isRatio } from './figures.ts'
import type { Machine, Results } from './results.ts'

/** What docs/ says of a run: `results.json` beside `results.md`. */
export interface Published {
  machine: Machine
  startedAt: string
  /** By the names that documents give in their marks. */
  figures: Record<string, number>
  /** Missed targets, with what was measured. */
  missed: string[]
}

const MOST_LOAD = 0.5
/** The CPU time of bare node:http relative to constant Fastify: what it is where nothing else takes part. */
const BARE_TO_CONSTANT = { least: 0.65, most: 0.85 }
const BARE_NAME = 'issuance: bare node:http / constant Fastify: CPU'
const MOST_CHANGE = 0.15

/** Why runs may not be published: a sentence for each reason. `accepts`: differences from the published figures are no reason. */
export function reasonsNotToPublish(
  runs: readonly Results[],
  { published, sections, accepts }: { published: Published | undefined; sections: string[]; accepts: boolean },
): string[] {
  const [first] = runs as [Results]
  const missing = sections.filter((name) => first.sections.every((section) => section.name !== name))
  return [
    ...(missing.length > 0 ? [`The first run must be complete: ${missing.join(', ')} is missing.`] : []),
    ...runs.flatMap((run) => reasonsOf(run, first)),
    ...(accepts || !published ? [] : changesOf(runs, published)),
  ]
}

/** The first run, with the sections that only others have. */
export function merged([first, ...others]: readonly [Results, ...Results[]]): Results {
  const added = others
    .flatMap(({ sections }) => sections)
    .filter(({ name }) => first.sections.every((one) => one.name !== name))
  return { ...first, sections: [...first.sections, ...added] }
}

function reasonsOf(run: Results, first: Results): string[] {
  const { quick, loadBefore, machine, sections, startedAt } = run
  const of = `The run of ${startedAt}`
  const bare = figureOf(run, BARE_NAME)
  const { least, most } = BARE_TO_CONSTANT
  return [
    quick && `${of} was a quick one: its figures mean nothing.`,
    sections.some(({ rows }) => rows.some(({ toOther }) => toOther)) && `${of} has another version in it (--against).`,
    sections.some(({ failed }) => failed) && `${of} has a section that failed.`,
    !isDeepStrictEqual(machine, first.machine) && `${of} is of another machine than the first one.`,
    loadBefore > MOST_LOAD &&
      `${of} began with a load average of ${loadBefore.toFixed(2)}, which may be ${MOST_LOAD} at most: the machine was not quiet.`,
    bare !== undefined &&
      (bare < least || bare > most) &&
      `In ${of.replace('The', 'the')} bare node:http took ${bare.toFixed(2)} of the CPU time of constant Fastify, not ${least} to ${most}: something else ran, or this machine is unlike others.`,
  ].filter((reason) => typeof reason === 'string')
}

function changesOf(runs: readonly Results[], { figures }: Published): string[] {
  return Object.entries(figures).flatMap(([name, before]) => {
    const now = isRatio(name) ? figureOfRuns(runs, name) : undefined
    if (now === undefined || Math.abs(now / before - 1) <= MOST_CHANGE) return []
    return [
      `${name} was ${before.toFixed(2)} and is ${now.toFixed(2)}, more than ${MOST_CHANGE * 100} % apart: find out why, then --accept it.`,
    ]
  })
}
