import { OperatorError } from '../domain/operator-error.ts'

/** There is no store where one is named, and none is to be made. `what` is a sentence that says so, without its end. */
export class NoStore extends OperatorError {
  constructor(what: string) {
    // The first thought is to make one: beside a store that is only misnamed or lost that would hide what happened.
    const should = 'If there should be a store, DATABASE_URL or the working directory is wrong, or it is gone'
    const make = '`token-server serve`, `token-server migrate`, and `register` and `operators add` with --create'
    super(`${what}. ${should}: put it back, or restore a backup. Only where there never was one: ${make} make it.`)
  }
}
