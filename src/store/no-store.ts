import { OperatorError } from '../domain/operator-error.ts'

/** There is no store where one is named, and none is to be made. `what` is the beginning of a sentence that says so. */
export class NoStore extends OperatorError {
  constructor(what: string) {
    const make =
      '`token-server serve` and `token-server migrate` make the store there, and so does `register` with --create'
    super(`${what}; ${make}. Another one is named by DATABASE_URL.`)
  }
}
