import type { OperatorError } from '../../domain/operator-error.ts'
import { problemOf } from '../wire/problem.ts'
import type { FieldError } from './components/forms.ts'

/**
 * The errors of a form. `inputs`: the name of the input for a JSON field, if they differ, or for the kind of an error without
 * fields.
 */
export function errorsOf(
  { kind, fields, message }: OperatorError,
  inputs: Readonly<Record<string, string>> = {},
): FieldError[] {
  if (fields) return fields.map(({ field, message }) => ({ field: inputs[field] ?? field, message: `${message}.` }))
  return [{ field: inputs[kind], message }]
}

/** The status of the page that shows the form again. */
export function statusOf(error: OperatorError): number {
  return problemOf(error).status
}
