/** The JWT of a workload as the documentation of its platform shows it, but for issuer, audience and times. */
export interface Platform {
  header?: Record<string, unknown>
  claims: { sub: string; [name: string]: unknown }
  /** How long it is valid, and how far before its making `nbf` and `iat` are, in seconds. */
  lifetime: number
  nbfBefore?: number
  iatBefore?: number
  /** The rule for it: the subject, and further claims. */
  subject: string
  rule?: Record<string, string>
  /** By default RS256. */
  algorithm?: 'ES256'
}

const UUID = '3d1c9a70-6a0e-4c0d-9b0e-0f3f6a6f1c11'

export const PLATFORMS: Record<string, Platform> = {
  kubernetes: {
    claims: {
      sub: 'system:serviceaccount:shop:orders',
      jti: UUID,
      'kubernetes.io': {
        namespace: 'shop',
        node: { name: 'node-1', uid: UUID },
        pod: { name: 'orders-69cd95b7cf-x2x7m', uid: UUID },
        serviceaccount: { name: 'orders', uid: UUID },
      },
    },
    lifetime: 3607,
    subject: 'system:serviceaccount:shop:orders',
  },
  github: {
    header: { typ: 'JWT', x5t: 'eBZ_cn3sXYAd0ch4THBKHIgOwOE' },
    claims: {
      sub: 'repo:partner/shop:ref:refs/heads/main',
      jti: UUID,
      ref: 'refs/heads/main',
      ref_type: 'branch',
      repository: 'partner/shop',
      repository_id: '74',
      repository_owner: 'partner',
      repository_visibility: 'private',
      actor: 'deployer',
      run_id: '163',
      run_attempt: '2',
      workflow: 'deploy',
      event_name: 'push',
      runner_environment: 'github-hosted',
      job_workflow_ref: 'partner/shop/.github/workflows/deploy.yml@refs/heads/main',
    },
    lifetime: 300,
    nbfBefore: 600,
    subject: 'repo:partner/*:ref:refs/heads/main',
    rule: { repository_owner: 'partner' },
  },
  gitlab: {
    header: { typ: 'JWT' },
    claims: {
      sub: 'project_path:partner/shop:ref_type:branch:ref:main',
      jti: UUID,
      namespace_id: '72',
      namespace_path: 'partner',
      project_id: '20',
      project_path: 'partner/shop',
      user_login: 'sample-user',
      pipeline_id: '574',
      job_id: '302',
      ref: 'main',
      ref_type: 'branch',
      ref_protected: 'true',
      environment_protected: 'false',
      runner_environment: 'self-hosted',
    },
    lifetime: 3600,
    nbfBefore: 5,
    subject: 'project_path:partner/shop:ref_type:branch:ref:*',
    rule: { ref_protected: 'true' },
  },
  google: {
    header: { typ: 'JWT' },
    claims: {
      sub: '107517467455664443765',
      azp: '107517467455664443765',
      email: 'orders@shop.iam.gserviceaccount.example',
      email_verified: true,
    },
    lifetime: 3600,
    subject: '107517467455664443765',
    rule: { email_verified: 'true' },
  },
  entra: {
    header: { typ: 'JWT', x5t: 'eBZ_cn3sXYAd0ch4THBKHIgOwOE' },
    claims: {
      sub: UUID,
      oid: UUID,
      tid: '8bdd4f4a-7ad0-4ca3-8d5c-c1b2f0a1c2d3',
      appid: '5e9b8f0e-2a1f-4b5a-a0b1-7c2f1d3e4f5a',
      appidacr: '2',
      idtyp: 'app',
      ver: '1.0',
    },
    lifetime: 86_400,
    nbfBefore: 300,
    iatBefore: 300,
    subject: UUID,
    rule: { tid: '8bdd4f4a-7ad0-4ca3-8d5c-c1b2f0a1c2d3' },
  },
  aws: {
    header: { typ: 'JWT' },
    claims: {
      sub: 'arn:aws:iam::123456789012:role/Orders',
      jti: UUID,
      'https://sts.amazonaws.com/': { aws_account: '123456789012', source_region: 'eu-central-1' },
    },
    lifetime: 300,
    subject: 'arn:aws:iam::123456789012:role/Orders',
  },
  spiffe: {
    header: { typ: 'JWT' },
    claims: { sub: 'spiffe://partner.example/ns/shop/sa/orders' },
    lifetime: 300,
    subject: 'spiffe://partner.example/ns/shop/sa/*',
    algorithm: 'ES256',
  },
}
