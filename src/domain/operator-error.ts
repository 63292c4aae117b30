/** What kind of no it is. `invalid`: fields have values that the rules forbid; `conflict`: with what there is already. */
export type OperatorErrorKind = 'invalid' | 'not found' | 'conflict' | 'idempotency key reused' | 'refused'

/** A field that is wrong, by the name that JSON has for it, and why, in a sentence without its period. */
export interface WrongField {
  readonly field: string
  readonly message: string
}

interface Options extends ErrorOptions {
  kind?: OperatorErrorKind
  fields?: readonly WrongField[]
}

/**
 * What an operator can mend: a wrong setting, an unknown id, a file that cannot be read. The message says what is wrong
 * in whole sentences; nothing was changed. Every other error that ends a command is a bug.
 */
export class OperatorError extends Error {
  override readonly name: string = 'OperatorError'
  readonly kind: OperatorErrorKind
  /** Where the kind is `invalid`: every field that is wrong. */
  readonly fields: readonly WrongField[] | undefined

  constructor(message: string, { kind = 'refused', fields, ...options }: Options = {}) {
    super(message, options)
    this.kind = kind
    this.fields = fields
  }
}
