import type { DocumentedAnswer } from '../../../lab/reference/description.ts'
import type { Answered } from './exchange.ts'
import { problems } from './schemas.ts'

/** Headers of the body and of the connection, not of what is said. */
const FRAMING = ['content-length', 'content-type', 'date', 'keep-alive', 'transfer-encoding']

type Described = Pick<DocumentedAnswer, 'status' | 'name' | 'response'>

/**
 * Where an answer is not what is described: its status, its headers and no others, its body and the example of it. To
 * `HEAD` there may be no body. Fields that vary are not compared with the example.
 */
export function differences(
  answer: Answered,
  described: Described,
  { isHead = false, varying = [] as string[] } = {},
): string[] {
  const found = answer.status === described.status ? [] : [`status ${answer.status}`]
  found.push(...headerDifferences(answer, described))
  if (!isHead || answer.body !== '') found.push(...bodyDifferences(answer, described, varying))
  return found
}

function headerDifferences({ headers }: Answered, { name, response }: Described): string[] {
  const described = new Map(Object.entries(response.headers ?? {}).map(([title, one]) => [title.toLowerCase(), one]))
  const unknown = Object.keys(headers).filter((title) => !described.has(title) && !FRAMING.includes(title))
  const wrong = [...described].flatMap(([title, { required, schema, example, examples }]) => {
    const value = headers[title]
    if (value === undefined) return required ? [`${title} is missing`] : []
    const expected = name === undefined ? example : examples?.[name]?.value
    const other = expected === undefined || expected === value ? [] : ['is not the example']
    return [...problems(schema, value), ...other].map((problem) => `${title} ${value}: ${problem}`)
  })
  return [...unknown.map((title) => `${title} is not described`), ...wrong]
}

function bodyDifferences({ headers, body }: Answered, { name, response }: Described, varying: string[]): string[] {
  const type = headers['content-type']?.split(';')[0]
  const content = response.content?.[String(type)]
  const example = name === undefined ? undefined : content?.examples[name]
  if (!response.content || (name !== undefined && !example)) return body === '' ? [] : [`a body: ${body}`]
  if (!content) return [`content-type ${type}`]
  const value = JSON.parse(body)
  const isOther = example && without(value, varying) !== without(example.value, varying)
  return [...problems(content.schema, value), ...(isOther ? [`is not the example: ${body}`] : [])]
}

/** JSON without these fields: the order of the others counts. */
function without(value: unknown, names: string[]): string {
  return JSON.stringify(value, (key, field) => (names.includes(key) ? undefined : field))
}
