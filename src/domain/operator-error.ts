/** `invalid`: a field breaks a rule; `another version`: the state is not the expected one; `refused`: everything else. */
export type OperatorErrorKind =
  | 'invalid'
  | 'not found'
  | 'taken id'
  | 'last secret'
  | 'another version'
  | 'idempotency key reused'
  | 'refused'

/** An invalid field by its JSON name, and the reason, without a final period. */
export interface WrongField {
  readonly field: string
  readonly message: string
}

interface Options extends ErrorOptions {
  kind?: OperatorErrorKind
  fields?: readonly WrongField[]
}

/**
 * An error that an operator can fix: a wrong setting, an unknown id, an unreadable file. The message consists of whole sentences.
 * Nothing was changed. Every other error that ends a command is a bug.
 */
export class OperatorError extends Error {
  override readonly name: string = 'OperatorError'
  readonly kind: OperatorErrorKind
  /** Only for `invalid`. */
  readonly fields: readonly WrongField[] | undefined

  constructor(message: string, { kind = 'refused', fields, ...options }: Options = {}) {
    super(message, options)
    this.kind = kind
    this.fields = fields
  }
}
