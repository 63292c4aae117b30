import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import type { Schema } from '../../../lab/reference/description.ts'

const ajv = new Ajv2020({ strict: true, strictRequired: false, allErrors: true })
formats.default(ajv)

/** What is wrong with a value, by a schema of OpenAPI 3.1, which is JSON Schema 2020-12. Throws where the schema is wrong. */
export function problems(schema: Schema, value: unknown): string[] {
  const validate = ajv.compile(schema)
  if (validate(value)) return []
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
}
