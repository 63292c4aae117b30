// Extracts parts of a page of the console from its HTML.

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }

/** The visible text of a page, with whitespace collapsed. */
export function textOf(body: string): string {
  return unescaped(body.replace(/<[^>]*>/g, ' ')).replace(/\s+/g, ' ')
}

/** The values of inputs with this name. */
export function valuesOf(body: string, name: string): string[] {
  const inputs = [...body.matchAll(/<input [^>]*>/g)].map(([input]) => input)
  return inputs
    .filter((input) => input.includes(` name="${name}"`))
    .map((input) => unescaped(/ value="([^"]*)"/.exec(input)?.[1] ?? ''))
}

/** The actions of POST forms, except for signing out, which is on every page. */
export function actionsOf(body: string): string[] {
  const forms = [...body.matchAll(/<form [^>]*method="post"[^>]*action="([^"]*)"/g)]
  return forms.map(([, action]) => unescaped(action as string)).filter((action) => action !== '/logout')
}

/** The text of the copyable element with this id. */
export function copyOf(body: string, id: string): string {
  return unescaped(new RegExp(`<code id="${id}">([^<]*)</code>`).exec(body)?.[1] ?? '')
}

/** Fragment links without a target on the page. */
export function deadLinksOf(body: string): string[] {
  const targets = [...body.matchAll(/<a [^>]*href="#([^"]*)"/g)].map(([, id]) => id as string)
  return targets.filter((id) => !body.includes(` id="${id}"`))
}

/** Decodes character references as a browser does. */
export function unescaped(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|#39);/g, (_, name) => ENTITIES[name] as string)
}
