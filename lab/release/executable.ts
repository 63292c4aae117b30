import { copyFileSync, cpSync, mkdirSync, mkdtempSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { freePort } from '../../test/support/free-port.ts'
import type { Release } from './build.ts'
import { attempt, type Old, PATHS, type Ports, tryOut, type Verdict } from './check.ts'
import { expect, type Installed, start } from './job.ts'
import { run } from './tools.ts'

/** The executable, in the root of a file system that has nothing but it, the libraries of C and C++, and /dev/null. */
export async function checkExecutable({ folder, version }: Release, work: string, old: Old): Promise<Verdict[]> {
  const artifact = 'executable'
  if (process.getuid?.() !== 0) return [{ artifact, done: 'run', found: 'skipped: no right to chroot: run it as root' }]
  const executable = join(folder, `token-server-${version}-linux-${process.arch}`)
  const libraries = run('ldd', [executable]).match(/\/\S+/g) ?? []
  const roots: string[] = []
  const install = (ports: Ports | Record<string, string>, old?: Old): Installed => {
    const root = mkdtempSync(join(work, 'executable-'))
    roots.push(root)
    for (const library of libraries) {
      mkdirSync(join(root, dirname(library)), { recursive: true })
      copyFileSync(library, join(root, library))
    }
    mkdirSync(join(root, 'dev'))
    run('mknod', [join(root, 'dev/null'), 'c', '1', '3'])
    cpSync(executable, join(root, 'token-server'))
    if (old) cpSync(join(old.folder, 'token-server.db'), join(root, 'data/token-server.db'))
    return {
      command: ['chroot', root, '/token-server'],
      env: { PATH: PATHS, ...ports },
      file: (name) => `/data/${name}`,
    }
  }
  return [
    ...(await tryOut(artifact, install, old)),
    await attempt(artifact, 'workers, console and documents', async () => {
      const [PORT, OPS, ADMIN] = await Promise.all([freePort(), freePort(), freePort()])
      const address = (port: number) => `127.0.0.1:${port}`
      const settings = { PORT: String(PORT), OPS_ADDRESS: address(OPS), ADMIN_ADDRESS: address(ADMIN), WORKERS: '2' }
      const server = await start(install(settings, old), PORT)
      try {
        expect((await server.check(old.token)) === 200, 'A token of the release before is not valid.')
        for (const page of [`${OPS}/docs`, `${OPS}/metrics`, `${ADMIN}/login`, `${ADMIN}/openapi-admin.yaml`]) {
          const { status } = await fetch(`http://127.0.0.1:${page}`)
          expect(status === (page.endsWith('.yaml') ? 401 : 200), `${page} is answered with ${status}.`)
        }
      } finally {
        await server.stop()
      }
    }),
    await attempt(artifact, 'it writes its data and one module', () => {
      const args = ['-type', 'f', '-newer', 'token-server', '-printf', '%P\\n']
      const written = run('find', args, { cwd: roots[0] as string })
        .trim()
        .split('\n')
        .sort()
        .join(' ')
      const expected = '.env data/backup.db data/better-sqlite3.node data/token-server.db'
      expect(written === expected, `It wrote ${written}.`)
    }),
  ]
}
