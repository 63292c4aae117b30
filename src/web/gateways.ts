// The least that makes a gateway check tokens for a suite, whose server is at 127.0.0.1:9000. The examples of the package have more.

interface Check {
  suiteId: string
  /** Where clients, and the gateway, reach the token server. */
  publicUrl: string
  introspectionUrl: string
}

const verifyUrl = ({ publicUrl, suiteId }: Check) => `${publicUrl}/v1/oauth/verify/${suiteId}`

const GATEWAYS: Readonly<Record<string, (check: Check) => string>> = {
  nginx: (check) => `location /${check.suiteId}/ {
    auth_request /check-token;
    auth_request_set $client_id $upstream_http_x_client_id;
    proxy_set_header X-Client-Id $client_id;
    proxy_set_header Authorization "";
    proxy_pass http://127.0.0.1:9000;
}

location = /check-token {
    internal;
    proxy_pass ${verifyUrl(check)};
    proxy_pass_request_body off;
    proxy_set_header Content-Length "";
}`,

  Caddy: ({ publicUrl, suiteId }) => `route /${suiteId}/* {
	forward_auth ${publicUrl} {
		uri /v1/oauth/verify/${suiteId}
		copy_headers X-Client-Id
	}
	request_header -Authorization
	reverse_proxy 127.0.0.1:9000
}`,

  Traefik: (check) => `http:
  routers:
    ${check.suiteId}: { rule: PathPrefix(\`/${check.suiteId}/\`), middlewares: [check-token, no-token], service: ${check.suiteId} }
  middlewares:
    check-token: { forwardAuth: { address: "${verifyUrl(check)}", authResponseHeaders: [X-Client-Id] } }
    no-token: { headers: { customRequestHeaders: { Authorization: "" } } }
  services:
    ${check.suiteId}: { loadBalancer: { servers: [{ url: "http://127.0.0.1:9000" }] } }`,

  Envoy: ({ publicUrl, suiteId }) => `# Before the router. The cluster token_server leads to this server.
- name: envoy.filters.http.ext_authz
  typed_config:
    "@type": type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthz
    http_service:
      server_uri: { uri: ${publicUrl}, cluster: token_server, timeout: 5s }
      path_prefix: /v1/oauth/verify/${suiteId}
      authorization_response:
        allowed_upstream_headers: { patterns: [{ exact: x-client-id }] }`,

  Apache: ({ introspectionUrl, suiteId }) => `# With mod_oauth2, and the suite's own secret.
<Location /${suiteId}>
    AuthType oauth2
    OAuth2TokenVerify introspect ${introspectionUrl} introspect.auth=client_secret_basic&client_id=${suiteId}&client_secret=SECRET
    Require oauth2_claim aud:${suiteId}
    RequestHeader set X-Client-Id %{OAUTH2_CLAIM_client_id}e
    RequestHeader unset Authorization
    ProxyPass http://127.0.0.1:9000/${suiteId}
</Location>`,
}

/** For each gateway, its name and the configuration that checks the tokens of requests to the path of a suite. */
export function gateways(check: Check): { gateway: string; configuration: string }[] {
  return Object.entries(GATEWAYS).map(([gateway, write]) => ({ gateway, configuration: write(check) }))
}
