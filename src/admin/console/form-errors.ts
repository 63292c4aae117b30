import type { OperatorError } from '../../domain/operator-error.ts'
import { problemOf } from '../wire/problem.ts'
import type { FieldError } from './components/forms.ts'

/**
 * What is wrong with a form, at its inputs. `inputs`: the name of an input, by that of the field in JSON where they differ, and
 * by the kind of an error that names no field.
 */
export function errorsOf(
  { kind, fields, message }: OperatorError,
  inputs: Readonly<Record<string, string>> = {},
): FieldError[] {
  if (fields) return fields.map(({ field, message }) => ({ field: inputs[field] ?? field, message: `${message}.` }))
  return [{ field: inputs[kind], message }]
}

/** The status of the page that has the form again. */
export function statusOf(error: OperatorError): number {
  return problemOf(error).status
}
