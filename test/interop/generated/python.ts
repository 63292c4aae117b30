import { fromPyPI, type Generator, OPENAPI_PYTHON_CLIENT, openapiGenerator } from './generator.ts'

export const python: Generator = {
  ...openapiGenerator('python'),
  file: 'main.py',
  run: 'bin/pip install --quiet ./public_api ./admin_api >&2 && bin/python main.py',
  program: `
import os
from admin_api import ApiClient, ApplicationsApi, Configuration, Registration, Rotation, SecretsOfApplicationsApi
from admin_api import SuiteRegistration, SuitesApi
import public_api

admin = ApiClient(Configuration(host=os.environ["ADMIN"], access_token=os.environ["ADMIN_KEY"]))
suite = SuitesApi(admin).register_suite(SuiteRegistration(id="store", name="Store API"))
applications = ApplicationsApi(admin)
for name in ["One", "Two", "Three"]:
    registration = Registration(name=name, developer_email="a@b.example", suites=["store"])
    application = applications.register_application(registration)

page = applications.list_applications(limit=2)
while True:
    print(*[application.name for application in page.applications])
    if page.next is None:
        break
    page = applications.list_applications(limit=2, after=page.next)

tokens = public_api.TokensApi(public_api.ApiClient(public_api.Configuration(host=os.environ["PUBLIC"])))
configuration = public_api.Configuration(host=os.environ["PUBLIC"], username=suite.id, password=suite.client_secret)
checks = public_api.ChecksApi(public_api.ApiClient(configuration))
id = application.client_id
token = tokens.request_token("client_credentials", id, application.client_secret).access_token
print(checks.introspect_token(token).active)

secrets = SecretsOfApplicationsApi(admin)
secret = secrets.rotate_application_secret(id, rotation=Rotation(overlap_seconds=0)).client_secret
token = tokens.request_token("client_credentials", id, secret).access_token
print(checks.introspect_token(token).active)

explanation = applications.explain_application(id)
print(explanation.application.name, explanation.suite is None)
applications.remove_application(id)
print(checks.introspect_token(token).active)
`,
}

/** openapi-python-client. It warns where it leaves something out. */
export const pythonClient: Generator = {
  tools: ['python3'],
  install: fromPyPI(OPENAPI_PYTHON_CLIENT),
  generate: (description, name) =>
    `PATH=$PWD/bin:$PATH openapi-python-client generate --path ${description} --meta none --output-path ${name} --fail-on-warning`,
  file: 'main.py',
  run: 'bin/python main.py',
  program: `
import base64, os
from admin_api import AuthenticatedClient
from admin_api.api.applications import explain_application, list_applications, register_application, remove_application
from admin_api.api.secrets_of_applications import rotate_application_secret
from admin_api.api.suites import register_suite
from admin_api.models import Registration, Rotation, SuiteRegistration
from public_api import AuthenticatedClient as Suite, Client
from public_api.api.checks import introspect_token
from public_api.api.tokens import request_token
from public_api.models import IntrospectionRequest, TokenRequest

admin = AuthenticatedClient(base_url=os.environ["ADMIN"], token=os.environ["ADMIN_KEY"])
suite = register_suite.sync(client=admin, body=SuiteRegistration(id="store", name="Store API"))
for name in ["One", "Two", "Three"]:
    registration = Registration(name=name, developer_email="a@b.example", suites=["store"])
    application = register_application.sync(client=admin, body=registration)

page = list_applications.sync(client=admin, limit=2)
while True:
    print(*[application.name for application in page.applications])
    if page.next_ is None:
        break
    page = list_applications.sync(client=admin, limit=2, after=page.next_)

client = Client(base_url=os.environ["PUBLIC"])
credentials = base64.b64encode(f"{suite.id}:{suite.client_secret}".encode()).decode()
by_suite = Suite(base_url=os.environ["PUBLIC"], prefix="Basic", token=credentials)
id = application.client_id

def request(secret):
    request = TokenRequest(grant_type="client_credentials", client_id=id, client_secret=secret)
    return request_token.sync(client=client, body=request).access_token

def is_active(token):
    return introspect_token.sync(client=by_suite, body=IntrospectionRequest(token=token)).active

print(is_active(request(application.client_secret)))

rotation = rotate_application_secret.sync(id, client=admin, body=Rotation(overlap_seconds=0))
token = request(rotation.client_secret)
print(is_active(token))

explanation = explain_application.sync(id, client=admin)
print(explanation.application.name, explanation.suite is None)
remove_application.sync_detailed(id, client=admin).parsed
print(is_active(token))
`,
}
