import * as z from 'zod'
import { type CamelCase, camelCase } from '../domain/text.ts'
import { timestamp } from '../domain/time.ts'

// A view is an object as callers see it. Its schema, with JSON names and descriptions, determines its JSON (`view`), the serializer of
// the API, and its part of the OpenAPI document (`jsonSchema`). A server that makes no changes does not load this folder.

export const text = (description: string) => z.string().describe(description)

/** Text that an operator enters. `subject`: the beginning of error messages about it. */
export const textInput = (subject: string) =>
  z.string({ error: ({ input }) => `${subject} ${input === undefined ? 'is missing' : 'must be text'}` })

/**
 * Excludes invisible characters, with which two names could look the same. Joiners and variation selectors are allowed after a
 * non-ASCII character, because emoji and scripts such as Persian need them.
 */
export const VISIBLE = /^(\P{Default_Ignorable_Code_Point}|(?<=\P{ASCII})[\p{Join_Control}\p{Variation_Selector}])*$/u

/** Visible text on one line, 1 to 200 characters. */
export const lineInput = (subject: string) =>
  textInput(subject)
    .regex(/\S/, `${subject} must not be empty`)
    .max(200, `${subject} may have at most 200 characters`)
    .regex(/^[^\p{Cc}\p{Cs}\p{Bidi_Control}\u2028\u2029]*$/u, `${subject} must not have control characters`)
    .regex(VISIBLE, `${subject} must not have invisible characters`)

/** The same texts in a view: without the rules, but with their descriptions. */
export function shownTexts<Name extends string>(rules: Record<Name, z.ZodString>) {
  const shown = Object.entries<z.ZodString>(rules).map(([name, { description = '' }]) => [name, text(description)])
  return Object.fromEntries(shown) as Record<Name, z.ZodString>
}

export const whole = (description: string) => z.number().meta({ type: 'integer', description })

export const real = (description: string) => z.number().describe(description)

export const flag = (description: string) => z.boolean().describe(description)

export const choice = <const Word extends string>(words: readonly Word[], description: string) =>
  z.enum(words).describe(description)

export const list = <Item extends z.ZodType>(description: string, item: Item) => z.array(item).describe(description)

/** RFC 3339 in a view, milliseconds since the epoch in its source. */
export const time = (description: string) => z.string().brand<'time'>().meta({ format: 'date-time', description })

/** Any fields of an object, or null. */
export const fields = (description: string) =>
  z
    .custom<Readonly<Record<string, unknown>> | null>()
    .meta({ type: ['object', 'null'], additionalProperties: true, description })

/** An object with these fields and no others. `title`: its name in the OpenAPI document. */
export const object = <Fields extends z.ZodRawShape>(title: string, description: string, fields: Fields) =>
  z.strictObject(fields).meta({ title, description })

/** What a view is made from: names in camel case, times in milliseconds since the epoch, null or undefined for null. */
type Source<View> =
  View extends z.infer<ReturnType<typeof time>>
    ? number
    : View extends null
      ? null | undefined
      : View extends readonly (infer Item)[]
        ? readonly Source<Item>[]
        : View extends object
          ? { readonly [Name in keyof View & string as CamelCase<Name>]: Source<View[Name]> }
          : View

/** The value from which `view` makes a view. */
export type SourceOf<Schema extends z.ZodType> = Source<z.infer<Schema>>

/** Makes a view: the fields of the schema in its order, and no others. */
export function view<Schema extends z.ZodType>(schema: Schema, value: SourceOf<Schema>): z.infer<Schema> {
  return converterOf(schema)(value) as z.infer<Schema>
}

type Converter = (value: unknown) => unknown

/** One per schema, because reading a zod schema for each value is slow. */
const CONVERTERS = new WeakMap<object, Converter>()

function converterOf(schema: object): Converter {
  const convert = CONVERTERS.get(schema) ?? createConverter(schema)
  CONVERTERS.set(schema, convert)
  return convert
}

function createConverter(schema: object): Converter {
  if (schema instanceof z.ZodNullable) {
    const inner = converterOf(schema.unwrap())
    return (value) => (value === undefined || value === null ? null : inner(value))
  }
  if (schema instanceof z.ZodArray) {
    const item = converterOf(schema.element)
    return (values) => (values as unknown[]).map((value) => item(value))
  }
  if (schema instanceof z.ZodObject) {
    const fields = Object.entries<object>(schema.shape).map(
      ([name, field]) => [name, camelCase(name), converterOf(field)] as const,
    )
    return (value) => {
      const shown: Record<string, unknown> = {}
      for (const [name, source, convert] of fields) shown[name] = convert((value as Record<string, unknown>)[source])
      return shown
    }
  }
  const isTime = schema instanceof z.ZodString && schema.meta()?.format === 'date-time'
  return isTime ? (value) => timestamp(Number(value)) : (value) => value
}

export type JsonSchema = Record<string, unknown>

/** The JSON Schema of a schema, without `$ref`. The type of a nullable field is a list with null. */
export function jsonSchema(schema: z.ZodType): JsonSchema {
  const { $schema, ...json } = z.toJSONSchema(schema, { unrepresentable: 'any', override: joinNull })
  return json
}

function joinNull({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  const { anyOf: [value, none] = [], ...own } = jsonSchema
  if (none?.type !== 'null') return
  delete jsonSchema.anyOf
  Object.assign(jsonSchema, value, own, { type: [value?.type, 'null'] })
}
