/** `invalid`: a field breaks a rule; `conflict`: contradicts the current state; `refused`: everything else. */
export type OperatorErrorKind = 'invalid' | 'not found' | 'conflict' | 'idempotency key reused' | 'refused'

/** An invalid field by its JSON name, and a sentence that says why, without the final period. */
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
  /** For the kind `invalid`: every invalid field. */
  readonly fields: readonly WrongField[] | undefined

  constructor(message: string, { kind = 'refused', fields, ...options }: Options = {}) {
    super(message, options)
    this.kind = kind
    this.fields = fields
  }
}
