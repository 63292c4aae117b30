import type { FastifyError, FastifySchemaValidationError } from 'fastify'

/** An invalid field. `pointer`: a JSON Pointer (RFC 6901) as a URI fragment, such as `#/name`. */
export interface WrongField {
  detail: string
  pointer: string
}

interface Invalid {
  status: number
  detail: string
  errors?: WrongField[]
}

/** JSON types in words. */
const TYPES: Record<string, string> = {
  string: 'text',
  integer: 'a whole number',
  array: 'a list',
  object: 'an object',
}

/** The problem for a schema validation error: 422 with each field of the body, or 400 for query parameters. */
export function invalid({ validation = [], validationContext }: FastifyError): Invalid {
  const isBody = validationContext === 'body'
  const problems = validation.map((one) => ({ names: namesOf(one), words: isBody ? bodyWords(one) : queryWords(one) }))
  const detail = problems.map(({ names, words }) => {
    if (names.length === 0) return `The body ${words}.`
    return `The ${isBody ? 'field' : 'parameter'} ${names.join('/')} ${words}.`
  })
  if (!isBody) return { status: 400, detail: detail.join(' ') }
  const errors = problems.map(({ names, words }) => ({ detail: words, pointer: pointerOf(names) }))
  return { status: 422, detail: detail.join(' '), errors }
}

/** The path to the field: the names of the enclosing fields and its own. */
function namesOf({ instancePath, params }: FastifySchemaValidationError): string[] {
  const names = instancePath.split('/').slice(1)
  const own = params.missingProperty ?? params.additionalProperty
  return [...names.map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~')), ...(own ? [String(own)] : [])]
}

/** A JSON Pointer as a URI fragment (RFC 6901 §6). */
function pointerOf(names: string[]): string {
  const segments = names.map((name) => encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1')))
  return ['#', ...segments].join('/')
}

function bodyWords({ keyword, params }: FastifySchemaValidationError): string {
  if (keyword === 'required') return 'is missing'
  if (keyword === 'additionalProperties') return 'is not known here'
  if (keyword === 'minProperties') return 'must have a field'
  if (keyword === 'type')
    return `must be ${[params.type]
      .flat()
      .flatMap((type) => TYPES[String(type)] ?? [])
      .join(' or ')}`
  const isLeast = params.comparison === '>='
  return `must be ${params.limit} or ${isLeast ? 'more' : 'less'}`
}

function queryWords({ keyword }: FastifySchemaValidationError): string {
  return keyword === 'additionalProperties' ? 'is not known here' : 'must be given once'
}
