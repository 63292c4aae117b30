import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parseAllDocuments } from 'yaml'
import { needs } from '../support/needs.ts'

export const FOLDER = join(import.meta.dirname, '../../deploy/kubernetes')

/** The kustomizations that can be applied: one for each kind of store. */
export const OVERLAYS = ['sqlite', 'postgres'] as const

// kubectl has kustomize in it.
const RENDERERS: [command: string, ...args: string[]][] = [
  ['kubectl', 'kustomize'],
  ['kustomize', 'build'],
]
const renderer = RENDERERS.find(([command]) => !spawnSync(command, ['version', '--help']).error)

/** Why nothing can be rendered here; false where it can. */
export const noRenderer = needs('kubectl or kustomize', renderer !== undefined)

/** What `kubectl apply -k` would send to the cluster, as YAML. */
export function render(overlay: string): string {
  const [command, ...args] = renderer as [string, ...string[]]
  return execFileSync(command, [...args, join(FOLDER, overlay)], { encoding: 'utf8' })
}

/** A test of the rule with the objects of each overlay. */
export function testEach(rule: string, run: (t: Test, objects: KubernetesObject[], overlay: string) => unknown): void {
  for (const overlay of OVERLAYS) {
    t.test(`${rule} (${overlay})`, { skip: noRenderer }, async (t) => run(t, objectsOf(render(overlay)), overlay))
  }
}

export type Labels = Record<string, string>

interface Probe {
  httpGet: { path: string; port: string }
}

export interface Container {
  image: string
  args?: string[]
  ports: { name: string; containerPort: number }[]
  volumeMounts: { name: string; mountPath: string; readOnly?: boolean }[]
  startupProbe: Probe
  readinessProbe: Probe
  livenessProbe: Probe
  lifecycle?: { preStop: { sleep: { seconds: number } } }
  resources: { requests: object; limits: object }
  securityContext: object
}

export interface Pod {
  automountServiceAccountToken: boolean
  enableServiceLinks: boolean
  terminationGracePeriodSeconds: number
  securityContext: Record<string, unknown>
  containers: [Container]
  volumes?: { name: string; secret?: { defaultMode: number } }[]
}

/** An object of Kubernetes, as far as the tests look at it. */
export interface KubernetesObject {
  kind: string
  metadata: { name: string; labels?: Labels }
  data: Record<string, string>
  spec: Pod & {
    replicas: number
    strategy: unknown
    maxUnavailable: number
    selector: { matchLabels: Labels } & Labels
    podSelector: { matchLabels: Labels }
    podMetricsEndpoints: { port: string }[]
    jobLabel: string
    template: { metadata: { labels: Labels }; spec: Pod }
    volumeClaimTemplates: { metadata: { name: string }; spec: { accessModes: string[] } }[]
    ports: { targetPort: string; port: number }[]
    ingress: { ports: { port: string }[]; from: { namespaceSelector: { matchLabels: Labels } }[] }[]
    egress: { ports: { port: number }[] }[]
  }
}

/** The objects of a YAML text. */
export function objectsOf(text: string): KubernetesObject[] {
  return parseAllDocuments(text).map((document) => document.toJS())
}

/** The object of a kind. */
export function find(objects: KubernetesObject[], kind: string): KubernetesObject | undefined {
  return objects.find((object) => object.kind === kind)
}

/** The one that makes pods. */
export function workloadOf(objects: KubernetesObject[]): KubernetesObject {
  return (find(objects, 'StatefulSet') ?? find(objects, 'Deployment')) as KubernetesObject
}

/** The pod for a restore, which no overlay has in it. */
export const [restore] = objectsOf(readFileSync(join(FOLDER, 'sqlite/restore.yaml'), 'utf8')) as [KubernetesObject]
