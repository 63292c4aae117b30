export type Labels = Readonly<Record<string, string>>

/** What operators can add to a suite. */
export interface Annotations {
  readonly labels: Labels
  readonly note: string
}

/** An undefined field stays as it is. */
export type AnnotationChanges = { readonly [Field in keyof Annotations]?: Annotations[Field] | undefined }

/** One text for each label, `key=value`. */
export function labelTexts(labels: Labels): string[] {
  return Object.entries(labels).map(([key, value]) => `${key}=${value}`)
}

/** Parses such texts without checking them. A text without `=` is a key without a value. */
export function labelsIn(texts: readonly string[]): Labels {
  return Object.fromEntries(
    texts.map((text) => {
      const [key = '', ...value] = text.split('=')
      return [key.trim(), value.join('=').trim()]
    }),
  )
}

/** Whether one of the labels is this `key=value`, or has this key. */
export function hasLabel(labels: Labels, wanted: string): boolean {
  return wanted.includes('=') ? labelTexts(labels).includes(wanted) : Object.hasOwn(labels, wanted)
}
