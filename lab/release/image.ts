import { chmodSync, cpSync, existsSync, mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import type { Release } from './build.ts'
import { attempt, type Old, type Ports, tryOut, type Verdict } from './check.ts'
import { loadEveryModule } from './contents.ts'
import { expect, type Installed } from './job.ts'
import { has, ROOT, run } from './tools.ts'

/** The stand-in for Docker of the workplace, or Docker. */
function engine(): Record<'build' | 'run' | 'inspect', string[]> | undefined {
  const standIn = join(ROOT, '../shared/container/container')
  const inspect = ['image', 'inspect', '--format={{json .Config.Labels}}', 'token-server']
  if (existsSync(standIn)) {
    const build = [standIn, 'build', ROOT, 'token-server']
    return { build, run: [standIn, 'run'], inspect: [standIn, 'podman', ...inspect] }
  }
  // The client alone is of no use.
  if (!has('docker info')) return undefined
  const hardened = ['--rm', '--network=host', '--read-only', '--cap-drop=ALL', '--security-opt=no-new-privileges']
  const build = ['docker', 'build', '--tag', 'token-server', ROOT]
  return { build, run: ['docker', 'run', ...hardened], inspect: ['docker', ...inspect] }
}

/** The image, built and run with a read-only root, as nobody. */
export async function checkImage({ version }: Release, work: string, old: Old): Promise<Verdict[]> {
  const artifact = 'image'
  const container = engine()
  if (!container) return [{ artifact, done: 'built', found: 'skipped: no Docker' }]
  if (process.getuid?.() !== 0)
    return [{ artifact, done: 'run', found: 'skipped: only root can give a folder to the user of the image' }]
  const runAll = ([program = '', ...args]: string[]) => run(program, args)
  runAll(container.build)
  const install = (ports: Ports, old?: Old): Installed => {
    const data = mkdtempSync(join(work, 'image-'))
    if (old) cpSync(join(old.folder, 'token-server.db'), join(data, 'token-server.db'))
    run('chown', ['-R', '65532:65532', data])
    chmodSync(data, 0o700)
    const own = { ...ports, OPS_ADDRESS: 'off' }
    const settings = Object.entries(own).flatMap(([name, value]) => ['--env', `${name}=${value}`])
    const command = [...container.run, '--volume', `${data}:/data`, ...settings, 'token-server']
    return { command, env: process.env, file: (name) => `/data/${name}` }
  }
  const labels = JSON.parse(runAll(container.inspect))
  const node = [...container.run, '--entrypoint=/nodejs/bin/node', 'token-server']
  return [
    ...(await tryOut(artifact, install, old)),
    await attempt(artifact, 'every module loads', () => runAll([...node, ...loadEveryModule('/app')])),
    await attempt(artifact, 'its labels name the version', () =>
      expect(labels['org.opencontainers.image.version'] === version, `They are ${JSON.stringify(labels)}.`),
    ),
  ]
}
