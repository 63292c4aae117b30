import { join } from 'node:path'
import { answersOf, type Operation, operationsOf, readDescription } from '../../../lab/reference/description.ts'
import { differences } from './answers.ts'
import type { Answered } from './exchange.ts'

export const ADMIN_DESCRIPTION = readDescription(join(import.meta.dirname, '../../../docs/openapi-admin.yaml'))

const OPERATIONS = operationsOf(ADMIN_DESCRIPTION).map((operation) => ({
  operation,
  pattern: new RegExp(`^${operation.path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/?]+')}(\\?|$)`),
}))

/** Parts of a response that the description lacks: the status, headers, fields. */
export function undescribed({ method, target }: { method: string; target: string }, answer: Answered): string[] {
  const operation = operationFor(method, target)
  if (!operation) return [401, 404, 405].includes(answer.status) ? [] : [`${method} ${target} ${answer.status}`]
  const described = answersOf(operation).find(({ status }) => status === answer.status)
  if (!described) return [`${operation.operationId} ${answer.status}`]
  return differences(answer, { ...described, name: undefined }, { isHead: method === 'HEAD' })
}

function operationFor(method: string, target: string): Operation | undefined {
  const asked = method === 'HEAD' ? 'GET' : method
  return OPERATIONS.find(({ operation, pattern }) => operation.method === asked && pattern.test(target))?.operation
}
