import { getAsset, getAssetKeys } from 'node:sea'

// In the executable, in place of src/program-files.ts: the files are inside of it, by their paths.

export const programFile = (path: string): URL => new URL(path, 'file:///lib/')

export function namesIn({ pathname }: URL): string[] {
  const folder = pathname.slice(1)
  const paths = getAssetKeys().filter((path) => path.startsWith(folder))
  return paths.map((path) => path.slice(folder.length))
}

export const readText = ({ pathname }: URL): string => getAsset(pathname.slice(1), 'utf8')

export const readBytes = ({ pathname }: URL): Buffer => Buffer.from(getAsset(pathname.slice(1)))
