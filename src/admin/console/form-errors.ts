import type { OperatorError, OperatorErrorKind } from '../../domain/operator-error.ts'
import { problemOf } from '../wire/problem.ts'
import type { FieldError } from './components/forms.ts'

/** What is wrong with a form, at its fields. `fieldOf`: where an error stands that names none, by its kind. */
export function errorsOf(
  { kind, fields, message }: OperatorError,
  fieldOf: Partial<Record<OperatorErrorKind, string>> = {},
): FieldError[] {
  if (fields) return fields.map(({ field, message }) => ({ field, message: `${message}.` }))
  return [{ field: fieldOf[kind] ?? '', message }]
}

/** The status of the page that has the form again. */
export function statusOf(error: OperatorError): number {
  return problemOf(error).status
}
