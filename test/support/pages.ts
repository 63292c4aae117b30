// What a test reads of a page of the console, without a browser.

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }

/** A page as who reads it sees it: its text, with single spaces. */
export function textOf(body: string): string {
  return unescaped(body.replace(/<[^>]*>/g, ' ')).replace(/\s+/g, ' ')
}

/** The values of a page's inputs of this name. */
export function valuesOf(body: string, name: string): string[] {
  const inputs = [...body.matchAll(/<input [^>]*>/g)].map(([input]) => input)
  return inputs
    .filter((input) => input.includes(` name="${name}"`))
    .map((input) => unescaped(/ value="([^"]*)"/.exec(input)?.[1] ?? ''))
}

/** Where the forms of a page are sent that change something; signing out is on every page. */
export function actionsOf(body: string): string[] {
  const forms = [...body.matchAll(/<form [^>]*method="post"[^>]*action="([^"]*)"/g)]
  return forms.map(([, action]) => unescaped(action as string)).filter((action) => action !== '/logout')
}

/** The text that can be copied from under this id. */
export function copyOf(body: string, id: string): string {
  return unescaped(new RegExp(`<code id="${id}">([^<]*)</code>`).exec(body)?.[1] ?? '')
}

/** The links within a page that lead to nothing on it. */
export function deadLinksOf(body: string): string[] {
  const targets = [...body.matchAll(/<a [^>]*href="#([^"]*)"/g)].map(([, id]) => id as string)
  return targets.filter((id) => !body.includes(` id="${id}"`))
}

function unescaped(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|#39);/g, (_, name) => ENTITIES[name] as string)
}
