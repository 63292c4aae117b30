interface Matcher {
  label: string
  operator: string
  value: string
}

/** A place in an expression where series are named: `metric{label="value"}`. */
interface Selector {
  metric: string
  matchers: Matcher[]
}

const TOKEN =
  /\s+|#.*|(?<text>"(?:\\.|[^"\\])*"|'[^']*')|(?<range>\[[^\]]*\])|(?<word>[a-zA-Z_:$][\w:]*)|(?<number>[\d.]+\w*)|[=!]~|[<>=!]=|./g
const WORDS = new Set(['and', 'or', 'unless', 'bool', 'offset'])
/** Followed by a list of labels in brackets. */
const LISTS = new Set(['by', 'without', 'on', 'ignoring', 'group_left', 'group_right'])

/** What an expression of PromQL names: series, and the labels in its lists. It reads what promtool has found right. */
export function readExpression(expression: string): { selectors: Selector[]; labels: string[] } {
  const tokens = [...expression.matchAll(TOKEN)].filter(([text]) => !/^(\s|#)/.test(text))
  const at = (index: number) => tokens[index]?.[0]
  const selectors: Selector[] = []
  const labels: string[] = []
  for (let i = 0; i < tokens.length; i++) {
    const word = tokens[i]?.groups?.word
    if (word === undefined || WORDS.has(word)) continue
    if (LISTS.has(word)) {
      for (i += 2; at(i) !== ')'; i++) if (at(i) !== ',') labels.push(at(i) as string)
    } else if (at(i + 1) === '{') {
      const matchers: Matcher[] = []
      for (i += 2; at(i) !== '}'; i += at(i) === ',' ? 1 : 0) {
        const [label, operator, value] = [at(i++), at(i++), at(i++)] as [string, string, string]
        matchers.push({ label, operator, value: value.slice(1, -1) })
      }
      selectors.push({ metric: word, matchers })
    } else if (at(i + 1) !== '(' && !LISTS.has(at(i + 1) as string)) {
      selectors.push({ metric: word, matchers: [] })
    }
  }
  return { selectors, labels }
}

/** Whether a matcher finds at least one of these values. */
export function finds({ operator, value }: Matcher, values: readonly string[]): boolean {
  const pattern = new RegExp(`^(?:${value})$`)
  return values.some((one) => (operator.endsWith('~') ? pattern.test(one) : one === value))
}
