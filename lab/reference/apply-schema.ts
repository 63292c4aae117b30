import * as z from 'zod'
import { applyFileOf } from '../../src/administration/apply-file.ts'

/** Leaves out patterns that the regular expressions of many validators do not know. `apply` checks them. */
function override({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  const isCommon = ({ pattern = '' }: z.core.JSONSchema.BaseSchema) => !/\\p\{|\(\?</i.test(pattern)
  if (!isCommon(jsonSchema)) delete jsonSchema.pattern
  if (jsonSchema.allOf) jsonSchema.allOf = jsonSchema.allOf.filter(isCommon)
}

/** The JSON Schema of a file for `apply` that is not a list, in the draft that most editors know. */
export function applySchema(): object {
  return z.toJSONSchema(applyFileOf(z.array), { target: 'draft-7', io: 'input', unrepresentable: 'any', override })
}
