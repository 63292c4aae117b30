import type { BuildOptions } from 'esbuild'

/** How esbuild bundles `src` with every dependency. */
export const OPTIONS = {
  bundle: true,
  platform: 'node',
  target: 'node22.18',
  // Otherwise the source maps would have the paths of this machine.
  preserveSymlinks: true,
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: 'none',
  sourcemap: true,
  sourcesContent: false,
  // pg does without pg-native.
  external: ['pg-native'],
} satisfies BuildOptions

/** The files of the font of the console. In a clone, its package has them. */
export const FONTS =
  'node_modules/@fontsource-variable/inter/files/inter-{latin,latin-ext,cyrillic,greek}-wght-normal.woff2'

/** What the program shows or prints of its documents. */
export const DOCUMENTS = [
  ...['README.md', 'CHANGELOG.md', 'SECURITY.md', 'docs/**/*.md'],
  ...['docs/openapi*.yaml', 'docs/reference.html', 'docs/apply.schema.json'],
]
