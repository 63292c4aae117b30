"""Asks about a token as a resource server written with Authlib does.

Standard input: {"url", "client_id", "client_secret", "method", "token"} as JSON. Standard output: the status and the
body of the answer, and whether Authlib takes the token, as JSON.
"""

import json
import sys

from authlib.integrations.requests_client import OAuth2Session
from authlib.oauth2.rfc6750 import InvalidTokenError
from authlib.oauth2.rfc7662 import IntrospectTokenValidator

question = json.load(sys.stdin)
session = OAuth2Session(
    question["client_id"],
    question["client_secret"],
    # Authlib asks about a token with the method that it revokes one with.
    revocation_endpoint_auth_method=question["method"],
)
session.trust_env = False


class Validator(IntrospectTokenValidator):
    def introspect_token(self, token_string):
        self.response = session.introspect_token(
            question["url"], token=token_string, token_type_hint="access_token"
        )
        return self.response.json() if self.response.ok else None


validator = Validator()
token = validator.authenticate_token(question["token"])
try:
    validator.validate_token(token, None, None)
    taken = True
except InvalidTokenError:
    taken = False
response = validator.response
print(json.dumps({"status": response.status_code, "body": response.json(), "taken": taken}))
