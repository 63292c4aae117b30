import { stripTypeScriptTypes } from 'node:module'
import { type AnyNode, type Node, parse } from 'acorn'
import { fullAncestor } from 'acorn-walk'

/** A change of one operator, one value or one statement of a source file: `replacement` takes the place of a range. */
export interface Mutation {
  file: string
  start: number
  end: number
  replacement: string
}

type Change = Omit<Mutation, 'file'>

const OPERATORS: Record<string, string> = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '===': '!==',
  '!==': '===',
  '&&': '||',
  '||': '&&',
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
  '%': '*',
  '&': '|',
  '|': '&',
  '+=': '-=',
  '-=': '+=',
  '++': '--',
  '--': '++',
}

const METHODS = new Map(Object.entries({ min: 'max', max: 'min', some: 'every', every: 'some' }))

/** The same for SQL, in template literals that begin with a statement. */
const SQL_STATEMENT = /^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b/
const SQL_TOKEN =
  /(?<=\s)(<=?|>=?|AND|OR|IS NOT NULL|IS NULL|NOT EXISTS|DESC|ORDER BY [\w.]+)(?=[\s)`])|\b(min|max)(?=\()/g
const SQL_TOKENS: Record<string, string> = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  AND: 'OR',
  OR: 'AND',
  'IS NULL': 'IS NOT NULL',
  'IS NOT NULL': 'IS NULL',
  'NOT EXISTS': 'EXISTS',
  min: 'max',
  max: 'min',
}

/** Every mutation of a source file, but for markup. Without its types it is JavaScript, with everything at the same place as before. */
export function mutationsOf(file: string, source: string): Mutation[] {
  const code = stripTypeScriptTypes(source)
  const found: Mutation[] = []
  fullAncestor(parse(code, { ecmaVersion: 'latest', sourceType: 'module' }), (node, _state, ancestors) => {
    if (ancestors.some((around) => isMarkup(around as AnyNode))) return
    for (const change of changesOf(node as AnyNode, source)) found.push({ file, ...change })
  })
  return found.sort((a, b) => a.start - b.start || a.end - b.end)
}

/** The markup of pages, and what chooses a part of it. */
function isMarkup(node: AnyNode): boolean {
  return node.type === 'TaggedTemplateExpression' && node.tag.type === 'Identifier' && node.tag.name === 'html'
}

function changesOf(node: AnyNode, source: string): Change[] {
  const replace = ({ start, end }: Pick<Node, 'start' | 'end'>, replacement: string): Change => ({
    start,
    end,
    replacement,
  })
  const text = ({ start, end }: Node) => source.slice(start, end)
  /** A change of the first such token from this place on. */
  const token = (old: string, after: number, replacement: string): Change => {
    const start = source.indexOf(old, after)
    return replace({ start, end: start + old.length }, replacement)
  }
  const swapped = (operator: string, after: number): Change[] => {
    const other = OPERATORS[operator]
    return other ? [token(operator, after, other)] : []
  }
  const negated = (test: Node): Change[] =>
    /^(Binary|Logical|Unary)/.test(test.type) ? [] : [replace(test, `!(${text(test)})`)]

  switch (node.type) {
    case 'BinaryExpression':
    case 'AssignmentExpression':
      return swapped(node.operator, node.left.end)
    case 'LogicalExpression':
      return node.operator === '??'
        ? [replace(node, `(${text(node.left)})`), replace(node, `(${text(node.right)})`)]
        : swapped(node.operator, node.left.end)
    case 'UpdateExpression':
      return swapped(node.operator, node.prefix ? node.start : node.argument.end)
    case 'UnaryExpression':
      return ['!', '-'].includes(node.operator) ? [token(node.operator, node.start, '')] : []
    case 'Literal':
      if (typeof node.value === 'boolean') return [replace(node, String(!node.value))]
      return typeof node.value === 'number' && !isConstant(node, source) ? [replace(node, String(node.value + 1))] : []
    case 'TemplateLiteral':
      return SQL_STATEMENT.test(source.slice(node.start + 1)) ? changesOfSql(text(node), node.start) : []
    case 'IfStatement':
    case 'ConditionalExpression':
    case 'WhileStatement':
      return negated(node.test)
    case 'ReturnStatement':
      return node.argument && text(node.argument) !== 'undefined' ? [replace(node.argument, 'undefined')] : []
    case 'ArrowFunctionExpression':
      return node.body.type === 'BlockStatement' || /^void\b/.test(text(node.body))
        ? []
        : [replace(node.body, 'undefined')]
    case 'ExpressionStatement':
    case 'ThrowStatement':
      return [replace(node, 'void 0')]
    case 'AwaitExpression':
      return [replace(node, text(node.argument))]
    case 'MemberExpression': {
      if (node.optional && !node.computed) return [token('?.', node.object.end, '.')]
      const other = METHODS.get(text(node.property))
      return other && !node.computed ? [replace(node.property, other)] : []
    }
    default:
      return []
  }
}

/** Whether a number is the whole value of a constant of the module, such as a limit, which a test could only repeat. */
function isConstant({ start, end }: Node, source: string): boolean {
  const line = source.lastIndexOf('\n', start) + 1
  return source[end] === '\n' && /^(export )?const \w+ = $/.test(source.slice(line, start))
}

function changesOfSql(sql: string, offset: number): Change[] {
  return [...sql.matchAll(SQL_TOKEN)].map(({ 0: old, index }) => ({
    start: offset + index,
    end: offset + index + old.length,
    replacement: SQL_TOKENS[old] ?? '',
  }))
}
