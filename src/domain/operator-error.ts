/**
 * What an operator can mend: a wrong setting, an unknown id, a file that cannot be read. The message says what is wrong
 * in whole sentences; nothing was changed. Every other error that ends a command is a bug.
 */
export class OperatorError extends Error {
  override readonly name: string = 'OperatorError'
}
