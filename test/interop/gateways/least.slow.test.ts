import t, { type Test } from 'tap'
import { gateways } from '../../../src/web/gateways.ts'
import { APACHE, createGatewayWorld, type Gateway, testEachGateway } from '../../support/gateways.ts'

// What the console shows in the first hour, inside the rest of a configuration. `startGateway` replaces the addresses.

const SNIPPETS = new Map(
  gateways({
    suiteId: 'store',
    publicUrl: 'http://127.0.0.1:8080',
    introspectionUrl: 'http://127.0.0.1:8080/v1/oauth/introspect',
  }).map(({ gateway, configuration }) => [gateway.toLowerCase(), configuration]),
)

/** The snippet with each line behind so many spaces. */
const indented = (name: string, spaces: number) => String(SNIPPETS.get(name)).replace(/^/gm, ' '.repeat(spaces))

const ENVOY = `static_resources:
  listeners:
    - address: { socket_address: { address: 127.0.0.1, port_value: 8000 } }
      filter_chains:
        - filters:
            - name: envoy.filters.network.http_connection_manager
              typed_config:
                "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
                stat_prefix: gateway
                route_config:
                  virtual_hosts:
                    - name: suites
                      domains: ["*"]
                      routes:
                        - { match: { prefix: /store }, route: { cluster: store } }
                        - match: { prefix: / }
                          direct_response: { status: 404 }
                          typed_per_filter_config:
                            envoy.filters.http.ext_authz:
                              "@type": type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthzPerRoute
                              disabled: true
                http_filters:
${indented('envoy', 18)}
                  - name: envoy.filters.http.router
                    typed_config: { "@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router }
  clusters:
${Object.entries({ token_server: 8080, store: 8081 })
  .map(
    ([name, port]) => `    - name: ${name}
      load_assignment:
        cluster_name: ${name}
        endpoints: [{ lb_endpoints: [{ endpoint: { address: { socket_address: { address: 127.0.0.1, port_value: ${port} } } } }] }]`,
  )
  .join('\n')}
`

const WHOLE: Readonly<Record<string, string>> = {
  nginx: `events {}
http {
    upstream token_server { server 127.0.0.1:8080; }
    upstream store { server 127.0.0.1:8081; }
    upstream product_information { server 127.0.0.1:8082; }
    access_log /var/log/nginx/access.log;
    server {
        listen 127.0.0.1:8000;
${indented('nginx', 8).replace('127.0.0.1:8080', 'token_server').replace('127.0.0.1:9000', 'store')}
        location / { return 404; }
    }
}
`,
  caddy: `{
	admin off
	auto_https off
}
http://:{$GATEWAY_PORT} {
${indented('caddy', 8).replace('127.0.0.1:8080', '{$TOKEN_SERVER}').replace('127.0.0.1:9000', '{$STORE}')}
	respond 404
}
`,
  envoy: ENVOY,
  apache2: `Include /etc/apache2/suite-secrets.conf
<VirtualHost 127.0.0.1:8000>
RedirectMatch 404 ^/(?!store)
${indented('apache', 0).replace('client_secret=SECRET', `client_secret=$${'{STORE_SECRET}'}`).replace('127.0.0.1:9000', '127.0.0.1:8081')}
</VirtualHost>
`,
}

const RULE = 'the configuration in the console lets a request with a valid token pass, and no other'

async function check(t: Test, gateway: Gateway): Promise<void> {
  const { front, authorization, credentials, post, accessToken } = await createGatewayWorld(t, gateway, () =>
    String(WHOLE[gateway.name]),
  )
  for (const wrong of [undefined, 'Bearer x', `${authorization}x`]) {
    const headers = { ...(wrong && { authorization: wrong }), 'x-client-id': 'forged' }
    t.equal(await front.statusOf('/store/x', { headers }), 401, String(wrong))
  }
  t.equal(front.reached(), 0)
  t.equal(await front.statusOf('/store/x', { headers: { authorization, 'x-client-id': 'forged' } }), 200)
  t.equal(front.last('store').headers['x-client-id'], credentials.client_id)
  if (gateway.asks) return
  await post({ ...credentials, token: accessToken }, {}, '/v1/oauth/revoke')
  t.equal(await front.statusOf('/store/x', { headers: { authorization } }), 401, 'a revoked token')
}

testEachGateway(RULE, check)
t.test(`Apache: ${RULE}`, { skip: APACHE.skip ?? false }, (t) => check(t, APACHE))
