import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { needs } from '../support/needs.ts'
import { runProgram } from '../support/run-program.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { ownCertificate, testBoth, tlsOf } from '../support/tls.ts'
import { createWorld } from '../support/world.ts'

const DOCUMENT = join(import.meta.dirname, '../../docs/http.md')

/** What docs/http.md tells to write for each library. */
const [, documented = ''] = readFileSync(DOCUMENT, 'utf8').split('## Client libraries\n')
const LINES = new Map([...documented.matchAll(/^\| (\S.*) \| `(.*)` \|$/gm)].map(([, name, line]) => [name, line]))

interface Library {
  /** The programs that it takes. */
  tools: string[]
  /** What of the library the machine's own packages must have: its name, and a file or folder of it. */
  package?: [name: string, path: string]
  /** The name of the program's file, and what it consists of, with the documented line; it prints a token. */
  file: string
  program: (line: string) => string
  /** Installs the library, and starts the program, in its folder. */
  install: string
  start: string
  needsBasic?: true
}

const npm = (name: string) => ({
  tools: ['npm'],
  file: 'main.mjs',
  install: `npm install --silent --no-save ${name}`,
  start: 'node main.mjs',
})
const ENV_JS = 'const { URL_: url, ID: id, SECRET: secret } = process.env; const issuer = new URL(url).origin'

const pip = (...names: string[]) => ({
  tools: ['python3'],
  file: 'main.py',
  install: `python3 -m venv . && bin/pip install --quiet ${names.join(' ')}`,
  start: 'bin/python main.py',
})
const ENV_PYTHON = 'import os\nurl, id, secret = os.environ["URL_"], os.environ["ID"], os.environ["SECRET"]'

/** Applications of Spring Boot have Jackson, which reads the answers. */
const SPRING = [
  'org.springframework.security:spring-security-oauth2-client:6.5.5',
  'com.fasterxml.jackson.core:jackson-databind:2.19.2',
]

const maven = (...dependencies: string[]) => ({
  tools: ['mvn', 'java'],
  file: 'Main.java',
  install: `printf '%s' '${pom(dependencies)}' > pom.xml
    mvn -q -B dependency:copy-dependencies -DoutputDirectory=lib`,
  start: `java -cp 'lib/*' Main.java`,
})

const CARGO = `[package]
name = "main"
version = "0.1.0"
edition = "2021"
[[bin]]
name = "main"
path = "main.rs"
[dependencies]
oauth2 = { version = "=5.0.0", default-features = false, features = ["ureq"] }
ureq = { version = "2", features = ["native-certs"] }
`

/** Composer's registry is not one of those that the tests use: they run it where the system has it. */
const LEAGUE = '/usr/share/php/League/OAuth2/Client/autoload.php'

const LIBRARIES: Record<string, Library> = {
  oauth4webapi: {
    ...npm('oauth4webapi@3.8.8'),
    program: (line) => `import * as oauth4webapi from 'oauth4webapi'
      ${ENV_JS}
      ${line}
      const server = { issuer, token_endpoint: url }, client = { client_id: id }
      const options = { [oauth4webapi.allowInsecureRequests]: true }
      const answer = await oauth4webapi.clientCredentialsGrantRequest(server, client, authentication, {}, options)
      console.log((await oauth4webapi.processClientCredentialsResponse(server, client, answer)).access_token)`,
  },
  'openid-client': {
    ...npm('openid-client@6.9.0'),
    program: (
      line,
    ) => `import { allowInsecureRequests, ClientSecretPost, clientCredentialsGrant, Configuration } from 'openid-client'
      ${ENV_JS}
      ${line}
      allowInsecureRequests(config)
      console.log((await clientCredentialsGrant(config)).access_token)`,
  },
  'simple-oauth2': {
    ...npm('simple-oauth2@5.1.0'),
    program: (line) => `import { ClientCredentials } from 'simple-oauth2'
      ${ENV_JS}
      ${line}
      console.log((await client.getToken({})).token.access_token)`,
  },
  Authlib: {
    ...pip('authlib==1.9.10', 'requests==2.34.2'),
    program: (line) => `${ENV_PYTHON}
from authlib.integrations.requests_client import OAuth2Session
${line}
print(session.fetch_token(url, grant_type="client_credentials")["access_token"])`,
  },
  'requests-oauthlib': {
    ...pip('requests-oauthlib==2.0.0'),
    program: (line) => `${ENV_PYTHON}
os.environ["OAUTHLIB_INSECURE_TRANSPORT"] = "1"
from oauthlib.oauth2 import BackendApplicationClient
from requests_oauthlib import OAuth2Session
${line}
print(token["access_token"])`,
  },
  requests_oauth2client: {
    ...pip('requests_oauth2client==1.8.0'),
    program: (line) => `${ENV_PYTHON}
from requests_oauth2client import OAuth2Client
${line.replace(/\)$/, ', testing=True)')}
print(client.client_credentials().access_token)`,
  },
  '@badgateway/oauth2-client': {
    ...npm('@badgateway/oauth2-client@3.3.1'),
    program: (line) => `import { OAuth2Client } from '@badgateway/oauth2-client'
      ${ENV_JS}
      ${line}
      console.log((await client.clientCredentials()).accessToken)`,
  },
  'Nimbus OAuth 2.0 SDK': {
    ...maven('com.nimbusds:oauth2-oidc-sdk:11.30'),
    program: (line) => `import com.nimbusds.oauth2.sdk.*;
      import com.nimbusds.oauth2.sdk.auth.*;
      import com.nimbusds.oauth2.sdk.id.ClientID;
      import java.net.URI;
      class Main {
        public static void main(String[] args) throws Exception {
          var id = System.getenv("ID");
          var secret = System.getenv("SECRET");
          ${line}
          var grant = new ClientCredentialsGrant();
          var request = new TokenRequest.Builder(URI.create(System.getenv("URL_")), authentication, grant).build();
          var answer = TokenResponse.parse(request.toHTTPRequest().send()).toSuccessResponse();
          System.out.println(answer.getTokens().getAccessToken().getValue());
        }
      }`,
  },
  'ScribeJava, in your `DefaultApi20`': {
    ...maven('com.github.scribejava:scribejava-core:8.3.3'),
    program: (line) => `import com.github.scribejava.core.builder.ServiceBuilder;
      import com.github.scribejava.core.builder.api.DefaultApi20;
      import com.github.scribejava.core.oauth2.clientauthentication.*;
      class Main {
        public static void main(String[] args) throws Exception {
          var api = new DefaultApi20() {
            @Override public String getAccessTokenEndpoint() { return System.getenv("URL_"); }
            @Override protected String getAuthorizationBaseUrl() { return null; }
            ${line}
          };
          var service = new ServiceBuilder(System.getenv("ID")).apiSecret(System.getenv("SECRET")).build(api);
          System.out.println(service.getAccessTokenClientCredentialsGrant().getAccessToken());
        }
      }`,
  },
  'google-oauth-client': {
    ...maven(
      'com.google.oauth-client:google-oauth-client:1.36.0',
      'com.google.http-client:google-http-client-gson:1.45.0',
    ),
    program: (line) => `import com.google.api.client.auth.oauth2.*;
      import com.google.api.client.http.GenericUrl;
      import com.google.api.client.http.javanet.NetHttpTransport;
      import com.google.api.client.json.gson.GsonFactory;
      class Main {
        public static void main(String[] args) throws Exception {
          var id = System.getenv("ID");
          var secret = System.getenv("SECRET");
          var url = new GenericUrl(System.getenv("URL_"));
          var request = new ClientCredentialsTokenRequest(new NetHttpTransport(), GsonFactory.getDefaultInstance(), url);
          ${line}
          System.out.println(request.execute().getAccessToken());
        }
      }`,
  },
  'golang.org/x/oauth2': {
    tools: ['go'],
    file: 'main.go',
    install: 'go mod init example && go get golang.org/x/oauth2@v0.38.0 && go build -o main .',
    start: './main',
    program: (line) => `package main
      import ("context"; "fmt"; "os"; "golang.org/x/oauth2"; "golang.org/x/oauth2/clientcredentials")
      func main() {
        url, id, secret := os.Getenv("URL_"), os.Getenv("ID"), os.Getenv("SECRET")
        ${line}
        token, err := config.Token(context.Background())
        if err != nil { panic(err) }
        fmt.Println(token.AccessToken)
      }`,
  },
  'Spring Security': {
    ...maven(...SPRING),
    program: (line) => `import org.springframework.security.oauth2.client.endpoint.*;
      import org.springframework.security.oauth2.client.registration.ClientRegistration;
      import org.springframework.security.oauth2.core.*;
      class Main {
        public static void main(String[] args) {
          var builder = ClientRegistration.withRegistrationId("a").tokenUri(System.getenv("URL_"))
            .clientId(System.getenv("ID")).clientSecret(System.getenv("SECRET"))
            .authorizationGrantType(AuthorizationGrantType.CLIENT_CREDENTIALS);
          ${line}
          var request = new OAuth2ClientCredentialsGrantRequest(builder.build());
          var answer = new RestClientClientCredentialsTokenResponseClient().getTokenResponse(request);
          System.out.println(answer.getAccessToken().getTokenValue());
        }
      }`,
  },
  'Rust oauth2': {
    tools: ['cargo'],
    file: 'main.rs',
    install: `printf '%s' '${CARGO}' > Cargo.toml && cargo build --quiet`,
    start: 'cargo run --quiet',
    program: (line) => `use oauth2::{basic::BasicClient, AuthType, ClientId, ClientSecret, TokenResponse, TokenUrl};
      fn main() -> Result<(), Box<dyn std::error::Error>> {
        let (url, id, secret) = (std::env::var("URL_")?, std::env::var("ID")?, std::env::var("SECRET")?);
        ${line}
        let http = oauth2::ureq::builder().redirects(0).build();
        println!("{}", client.exchange_client_credentials().request(&http)?.access_token().secret());
        Ok(())
      }`,
  },
  'Ruby oauth2': {
    tools: ['ruby'],
    package: ['ruby-oauth2', '/usr/share/doc/ruby-oauth2'],
    file: 'main.rb',
    install: ':',
    start: 'ruby main.rb',
    program: (line) => `require "oauth2"
      url, id, secret = ENV.values_at("URL_", "ID", "SECRET")
      ${line}
      puts client.client_credentials.get_token.token`,
  },
  'league/oauth2-client (PHP)': {
    tools: ['php'],
    package: ["PHP's league-oauth2-client", LEAGUE],
    file: 'main.php',
    install: ':',
    start: 'php -d curl.cainfo=ca.pem -d openssl.cafile=ca.pem main.php',
    program: (line) => `<?php
      require '${LEAGUE}';
      [$url, $id, $secret] = array_map('getenv', ['URL_', 'ID', 'SECRET']);
      ${line}
      echo $provider->getAccessToken('client_credentials')->getToken();`,
  },
  '.NET, without a library': {
    tools: ['mcs', 'mono'],
    file: 'main.cs',
    install: 'mcs -langversion:latest -r:System.Net.Http main.cs',
    start: 'mono main.exe',
    program: (line) => `using System;
      using System.Collections.Generic;
      using System.Net.Http;
      class Program {
        static void Main() {
          string url = Env("URL_"), id = Env("ID"), secret = Env("SECRET");
          var http = new HttpClient();
          ${line}
          var answer = http.PostAsync(url, form).Result.EnsureSuccessStatusCode().Content.ReadAsStringAsync().Result;
          Console.WriteLine(answer.Split(new[] { "\\"access_token\\":\\"" }, StringSplitOptions.None)[1].Split('"')[0]);
        }
        static string Env(string name) => Environment.GetEnvironmentVariable(name);
      }`,
  },
  'client-oauth2': {
    ...npm('client-oauth2@4.3.3'),
    needsBasic: true,
    program: (line) => `import ClientOAuth2 from 'client-oauth2'
      ${ENV_JS}
      ${line}
      console.log((await client.credentials.getToken()).accessToken)`,
  },
  'httpx-auth': {
    ...pip('httpx-auth==0.23.1'),
    needsBasic: true,
    program: (line) => `${ENV_PYTHON}
import httpx
from httpx_auth import OAuth2ClientCredentials
${line}
request = next(auth.sync_auth_flow(httpx.Request("GET", url)))
print(request.headers["Authorization"].removeprefix("Bearer "))`,
  },
}

/** What some programs need for plain HTTP only. */
const EXCEPTIONS = [
  '[oauth4webapi.allowInsecureRequests]: true',
  'allowInsecureRequests(config)',
  'os.environ["OAUTHLIB_INSECURE_TRANSPORT"] = "1"',
  ', testing=True',
]

/** How the program of each language is told to trust a certificate; what installs libraries needs another. */
const TRUST = {
  java: `keytool -importcert -noprompt -alias a -file ca.pem -keystore ca.jks -storepass changeit >/dev/null 2>&1
    export JAVA_TOOL_OPTIONS="-Djavax.net.ssl.trustStore=ca.jks -Djavax.net.ssl.trustStorePassword=changeit"`,
  mono: 'export HOME="$PWD" && cert-sync --user --quiet ca.pem >&2',
  others: 'export NODE_EXTRA_CA_CERTS=ca.pem REQUESTS_CA_BUNDLE=ca.pem SSL_CERT_FILE=ca.pem',
}

function pom(dependencies: string[]) {
  const coordinates = (text: string) => {
    const [group, artifact, version] = text.split(':')
    return `<groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${version}</version>`
  }
  const list = dependencies.map((text) => `<dependency>${coordinates(text)}</dependency>`).join('')
  const project = `<modelVersion>4.0.0</modelVersion>${coordinates('a:a:1')}`
  return `<project>${project}<dependencies>${list}</dependencies></project>`
}

t.test('Client libraries: the tests run every line of docs/http.md', async (t) => {
  t.strictSame([...LINES.keys()], Object.keys(LIBRARIES))
})

for (const [name, library] of Object.entries(LIBRARIES)) {
  const [packageName, path] = library.package ?? ['', '/']
  const skip = library.tools.map((tool) => needs(tool)).find(Boolean) || needs(packageName, existsSync(path))
  const setting = library.needsBasic ? 'HTTP Basic is accepted' : 'the credentials are in the body'
  const rule = `Client libraries: ${name} gets a token that passes a check, if ${setting}`
  testBoth(
    rule,
    async (t) => {
      const run = prepare(t, library, LINES.get(name) as string)
      const { app, credentials } = await createWorld(t, { acceptsBasic: library.needsBasic ?? false })
      const { port } = new URL(await app.listen({ port: 0, host: '127.0.0.1' }))
      // Not every client takes a certificate for an IP address.
      const address = tlsOf(t) ? `https://localhost:${port}` : `http://127.0.0.1:${port}`
      const { status, out, err } = await run(address, credentials)
      t.equal(status, 0, err)
      const check = { url: '/v1/oauth/verify', headers: { authorization: `Bearer ${out.trim()}` } }
      t.equal((await app.inject(check)).statusCode, 200)
      if (!library.needsBasic) return

      const other = await createWorld(t)
      const refusing = address.replace(port, new URL(await other.app.listen({ port: 0, host: '127.0.0.1' })).port)
      t.not((await run(refusing, other.credentials)).status, 0, 'without the setting it gets none')
    },
    { skip },
  )
}

/** Writes the program of a library into a folder. Returns what runs it there. */
function prepare(t: Test, { file, program, tools, install, start }: Library, line: string) {
  const cwd = temporaryFolder(t)
  const isTls = tlsOf(t) !== undefined
  const text = program(line)
  writeFileSync(join(cwd, file), isTls ? EXCEPTIONS.reduce((rest, one) => rest.replace(one, ''), text) : text)
  if (isTls) writeFileSync(join(cwd, 'ca.pem'), ownCertificate())
  const trust = isTls ? TRUST[(['java', 'mono'] as const).find((tool) => tools.includes(tool)) ?? 'others'] : ''
  return (address: string, { client_id, client_secret }: { client_id: string; client_secret: string }) => {
    const env = { URL_: `${address}/v1/oauth/accesstoken`, ID: client_id, SECRET: client_secret }
    return runProgram('sh', ['-ec', `{ ${install}\n} >&2\n${trust}\n${start}`], { cwd, env })
  }
}
