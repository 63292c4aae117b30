import { type Command, Option } from 'commander'
import type { Administration } from '../../administration/administration.ts'
import {
  type Annotations,
  type Application,
  type Labels,
  LIMITS,
  labelsIn,
  labelTexts,
  type OptionalTexts,
} from '../../domain/application.ts'
import { OperatorError } from '../../domain/operator-error.ts'
import { administer } from './administer.ts'
import { type JsonOption, print, say, type Terminal } from './terminal.ts'

export interface AnnotationOptions extends Partial<OptionalTexts> {
  label?: string[] | undefined
  removeLabel?: string[] | undefined
  /** Only for applications; 0 stands for TOKEN_QUOTA. */
  quota?: number | undefined
  source?: string[]
  removeSource?: string[]
  public?: string[]
  removePublic?: string[]
  reportOnly?: Application['reportOnly'][number][]
  enforce?: string[]
}

/** The lists of an application, with the options that add to each and remove from it. */
const LISTS = [
  ['sourceAddresses', 'source', 'removeSource'],
  ['publicLabels', 'public', 'removePublic'],
  ['reportOnly', 'reportOnly', 'enforce'],
] as const

type Listed = Partial<Pick<Application, 'labels' | (typeof LISTS)[number][0]>>

/** The rules for texts, by their names in TypeScript. */
type Rules = Readonly<Record<string, { description?: string | undefined }>>

/** Adds the options for labels and the texts that may be empty. */
export function addAnnotations(command: Command, texts: Rules): Command {
  command.option('--label <key=value>', 'a label, such as owner=web; may be repeated', collect)
  for (const option of textOptions(texts, 'text')) command.addOption(option)
  return command
}

/** Adds the options for what only applications have. */
export function addListOptions(command: Command): Command {
  return command
    .option('--source <range>', 'an address or a CIDR range that it may authenticate from; may be repeated', collect)
    .option('--public <key>', 'the key of a label that suites and gateways see; may be repeated', collect)
    .option(
      '--report-only <limit>',
      `what to report instead of refusing, ${LIMITS.join(' or ')}; may be repeated`,
      collect,
    )
}

/** An option for each text that operators set, made from its rule: `--developer-email <email>`. */
export function textOptions(rules: Rules, placeholder?: string): Option[] {
  return Object.entries(rules).map(([field, { description }]) => {
    const flag = field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
    const words = description?.replace(/^./, (letter) => letter.toLowerCase())
    return new Option(`--${flag} <${placeholder ?? flag.split('-').at(-1)}>`, words)
  })
}

export function addLabelFilter(command: Command): Command {
  return command.option('--label <label>', 'only those with this key or key=value; may be repeated', collect)
}

/** The options, with `labels` and lists if they change. `before` has those that are already set. */
export function annotated<Options extends AnnotationOptions>(
  { label = [], removeLabel = [], quota, ...options }: Options,
  before: Listed = {},
) {
  const kept = Object.entries({ ...before.labels, ...labelsIn(label) }).filter(([key]) => !removeLabel.includes(key))
  const lists = LISTS.map(([field, add, remove]) => {
    const [added = [], removed = []] = [options[add], options[remove]]
    const items = [...(before[field] ?? []), ...added].filter((item) => !removed.includes(item))
    return [field, added.length + removed.length > 0 ? items : undefined] as const
  })
  const settings = { ...options, quota: quota === 0 ? null : quota, ...Object.fromEntries(lists) }
  return { ...settings, labels: label.length + removeLabel.length > 0 ? Object.fromEntries(kept) : undefined }
}

/** After a change by hand that what manages an application or a suite may undo. */
export function warnIfManaged(terminal: Terminal, options: JsonOption, owner: Annotations | undefined): void {
  if (!owner?.managedBy) return
  say(terminal, options, 'warning', `It is managed by ${owner.managedBy}, which may undo this: change it there, too.`)
}

const isOtherVersion = (error: unknown) => error instanceof OperatorError && error.kind === 'another version'

interface Owners<Shown> {
  show(id: string): Promise<Shown>
  update(id: string, changes: object): Promise<boolean>
}

export function completeUpdate<Shown extends Annotations>(
  command: Command,
  terminal: Terminal,
  kind: 'application' | 'suite',
  ownersOf: (administration: Administration) => Owners<Shown>,
  view: (shown: Shown) => object,
): void {
  const all = command.option('--remove-label <key>', 'a label to remove; may be repeated', collect)
  all.action(async (id: string, { json, ...options }: JsonOption & AnnotationOptions) => {
    const names = command.options.map(({ long }) => long).filter((long) => long !== '--json')
    if (Object.keys(options).length === 0) command.error(`error: ${names.join(' or ')} is required`)
    const { databaseRegistry } = await import('../../administration/apply.ts')
    const { shown, isChanged } = await administer(terminal, async (administration, on) => {
      const owners = ownersOf(administration)
      for (;;) {
        // Labels and lists are set as a whole, so what others add after this must not be lost.
        const { version } = await databaseRegistry(on).find(kind, id)
        const before = await owners.show(id)
        try {
          const isChanged = await ownersOf(on({ onlyIf: [version] })).update(id, annotated(options, before))
          if (isChanged) warnIfManaged(terminal, { json }, before)
          return { isChanged, shown: await owners.show(id) }
        } catch (error) {
          // Each time, a change of others has succeeded.
          if (!isOtherVersion(error)) throw error
        }
      }
    })
    const words = `The ${kind} ${id} ${isChanged ? 'is updated' : 'already has these values'}.`
    await print(terminal, { json }, view(shown), words)
  })
}

/** The values for `labelled`, without those that are not set. */
export function annotationTexts(labels: Labels, texts: Record<string, string>): Record<string, string> {
  const all = { labels: labelTexts(labels).join(', '), ...texts }
  return Object.fromEntries(Object.entries(all).filter(([, text]) => text !== ''))
}

export function collect(value: string, values: string[] = []): string[] {
  return [...values, value]
}
