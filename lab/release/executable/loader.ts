import { createRequire, registerHooks } from 'node:module'
import { getAsset } from 'node:sea'

// The script that Node.js runs in the executable. It loads the bundle from the executable's own files: the parts of a bundle take a
// quarter less memory than one script of the whole program.

const LIBRARY = 'file:///lib/'

registerHooks({
  resolve: (specifier, context, next) =>
    specifier.startsWith('.') && context.parentURL?.startsWith(LIBRARY)
      ? { url: new URL(specifier, LIBRARY).href, shortCircuit: true }
      : next(specifier, context),
  load: (url, context, next) =>
    url.startsWith(LIBRARY)
      ? { format: 'module', source: getAsset(new URL(url).pathname.slice(1), 'utf8'), shortCircuit: true }
      : next(url, context),
})
createRequire(LIBRARY)('./main.js')
