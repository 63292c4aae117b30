import type { Command } from 'commander'
import type { Administration } from '../../administration/administration.ts'
import { type Annotations, type Labels, labelsIn, labelTexts } from '../../domain/labels.ts'
import { administer } from './administer.ts'
import { type JsonOption, print, type Terminal } from './terminal.ts'

export interface AnnotationOptions {
  label?: string[] | undefined
  removeLabel?: string[] | undefined
  note?: string | undefined
  /** Only of applications; 0: TOKEN_QUOTA. */
  quota?: number | undefined
}

/** Adds the options for labels and the note. */
export function addAnnotations(command: Command): Command {
  return command
    .option('--label <key=value>', 'a label, such as owner=web; may be repeated', collect)
    .option('--note <text>', 'a note for operators')
}

export function addLabelFilter(command: Command): Command {
  return command.option('--label <label>', 'only those with this key or key=value; may be repeated', collect)
}

/** The options, with `labels` if they change. `before`: the labels that are set already. */
export function annotated<Options extends AnnotationOptions>(
  { label = [], removeLabel = [], quota, ...options }: Options,
  before: Labels = {},
) {
  const kept = Object.entries({ ...before, ...labelsIn(label) }).filter(([key]) => !removeLabel.includes(key))
  const settings = { ...options, quota: quota === 0 ? null : quota }
  return { ...settings, labels: label.length + removeLabel.length > 0 ? Object.fromEntries(kept) : undefined }
}

interface Owners<Shown> {
  show(id: string): Promise<Shown>
  update(id: string, changes: object): Promise<boolean>
}

/** Completes a command that changes an application or a suite. */
export function completeUpdate<Shown extends Annotations>(
  command: Command,
  terminal: Terminal,
  kind: 'application' | 'suite',
  ownersOf: (administration: Administration) => Owners<Shown>,
  view: (shown: Shown) => object,
): void {
  const all = addAnnotations(command).option('--remove-label <key>', 'a label to remove; may be repeated', collect)
  all.action(async (id: string, { json, ...options }: JsonOption & AnnotationOptions) => {
    const names = command.options.map(({ long }) => long).filter((long) => long !== '--json')
    if (Object.keys(options).length === 0) command.error(`error: ${names.join(' or ')} is required`)
    const { shown, isChanged } = await administer(terminal, async (administration) => {
      const owners = ownersOf(administration)
      const isChanged = await owners.update(id, annotated(options, (await owners.show(id)).labels))
      return { isChanged, shown: await owners.show(id) }
    })
    const words = `The ${kind} ${id} ${isChanged ? 'is updated' : 'has these values already'}.`
    await print(terminal, { json }, view(shown), words)
  })
}

/** For `labelled`; what is not set is left out. */
export function annotationTexts({ labels, note }: Annotations): Record<string, string> {
  const texts = labelTexts(labels).join(', ')
  return { ...(texts && { labels: texts }), ...(note && { note }) }
}

/** Collects the values of an option that may be repeated. */
export function collect(value: string, values: string[] = []): string[] {
  return [...values, value]
}
