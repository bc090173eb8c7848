"""What schemathesis needs to know about this API besides its OpenAPI document.

Keys and ids come in FUZZ_FACTS (see schemathesis.ts). The checks below replace two of schemathesis's own where a rule
can't be written in a schema, and add one.
"""

import json
import os
import re
import time

import schemathesis
from hypothesis.internal import lambda_sources
from schemathesis.specs.openapi.checks import positive_data_acceptance

# Hypothesis parses the source of lambdas to describe them. In Python 3.11 that fails when another thread changes the limit of
# recursion meanwhile ("AST constructor recursion depth mismatch"). The description is never shown.
_describe = lambda_sources._lambda_description


def _describe_or_not(function):
    try:
        return _describe(function)
    except SystemError:
        return "lambda: ..."


lambda_sources._lambda_description = _describe_or_not

FACTS = json.loads(os.environ["FUZZ_FACTS"])

# Rules that JSON Schema can't express: where they apply and what the API says. Each `validation_error` of a request
# that matches its schema must be one of them.
BEYOND_SCHEMAS = [
    # Cursors are opaque; an event is one of the caller's own.
    (r"query\.cursor", r"Must be the nextCursor of an earlier page|belongs to "),
    (r"query\.after", r"Must be the id of one of your events"),
    # EIP-55.
    (r"query\.(address|wallet)|body\.(walletAddress|token|mandate\.(wallet|sellers\.\d+))", r"Has a wrong checksum"),
    # Decimal places by currency, and what a JSON number keeps exactly.
    (r"body\.price", r"Must have at most \d+ (decimal places|significant digits)"),
    # A query spells numbers without an exponent.
    (r"query\.(minPrice|maxPrice|minTrustScore)", r"Must be a decimal number"),
    # One field compared with another, or with the clock.
    (r"query\.(minPrice|minScore)", r"is greater than "),
    (r"query\.(sort|status|explain)", r"requires q|a search "),
    (r"body\.verification", r"Level 3 requires a verification|Only level 3 has a verification"),
    (r"body\.deadline", r"Must be after now"),
    (r"body\.(buyerPercent|sellerPercent)", r"Must be \d+|Required for Split"),
    (r"body\.(type|description)", r"Required for an item of evidence"),
    # A key that a batch has twice.
    (r"body\.entries\.\d+\.key", r"The key is given twice"),
    # Joiners, tags and parts of emoji: their neighbours decide.
    (r"(body|query)\..+", r"Must not contain U\+"),
    # A text of nothing but invisible characters beyond 16 bits.
    (r"(body|query)\..+", r"Must not be blank"),
    # `format: uri` also allows user names, and hosts that no resolver takes.
    (r"body\.(endpointUrl|callbackUrl|url)", r"Must be an http or https URL"),
    # One of two fields, and what a field allows another to be.
    (r"body\.(toAgentId|topic|body|encrypted|transactionId)", r"Give |Only a message|A topic has|Must be a text"),
    (r"query\.(unread|from)", r"Requires box=inbox"),
    (r"query\.topic", r"Give topic"),
    # Few points have the form of one.
    (r"body\.encrypted\.ephemeralPublicKey", r"Isn't a point"),
    # A text or a mandate, one of the two.
    (r"body\.(message|revokeOthersAfterSeconds)", r"Required without a mandate|Must not be given with a mandate"),
    # What a wallet signed for another service, or at another time.
    (r"body\.mandate\.(host|issuedAt|notAfter)", r"Must be (in|within|at most) |Must be [\w.:-]+$"),
    (r"body\.(host|keyId|network|requestHash|expiresAt)", r"Must be (in|at most) |Must be [\w.:-]+$"),
    # Free-form objects.
    (r"body\..+", r"This field name isn't allowed"),
    (r"body", r"Nested deeper than"),
]
# Codes of a 400 that say that the request is malformed. The others, such as `sign_in_message_invalid`, judge content.
MALFORMED = {"validation_error", "malformed_json", "malformed_request"}
# Answers to a well-formed request whose content does not suffice: money, what the chain can settle, and another version.
REFUSALS_BY_CONTENT = {402, 412, 422}

# Headers that any web server may send, those for browsers (docs/operating/configuration.md), and those that the description
# explains once for every answer.
COMMON_HEADERS = {
    "allow",
    "connection",
    "content-length",
    "content-type",
    "date",
    "keep-alive",
    "transfer-encoding",
    "vary",
    "cache-control",
    "content-security-policy",
    "cross-origin-resource-policy",
    "referrer-policy",
    "strict-transport-security",
    "x-content-type-options",
    "x-frame-options",
    "x-request-id",
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "ratelimit",
    "ratelimit-policy",
    "idempotency-replayed",
    "retry-after",
    "x-payment-response",
    "payment-response",
}

ATTEMPTS = 5


@schemathesis.auth()
class Keys:
    """Presents the caller's key, a key that may be revoked where the call revokes it, or the admin's."""

    def get(self, case, context):
        path = context.operation.path
        if "/admin/" in path or path == "/openapi-admin.json":
            return {"Authorization": f"Bearer {FACTS['adminKey']}"}
        if path == "/api/v1/auth/keys":
            return {"X-API-Key": FACTS["revocableKey"]}
        if "/ucp/" in path:
            return {"Authorization": f"Bearer {FACTS['key']}"}
        return {"X-API-Key": FACTS["key"]}

    def set(self, case, data, context):
        case.headers = case.headers or {}
        case.headers.update(data)


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    """Puts the id of an existing record in the place of every other valid id, so that calls find something."""
    if not path_parameters or context.operation is None:
        return path_parameters
    known = FACTS["ids"].get(f"{context.operation.method.upper()} {context.operation.path}")
    for name, value in path_parameters.items():
        if known is not None and isinstance(value, str) and 1 <= len(value) <= 64 and len(value) % 2 == 0:
            path_parameters[name] = known
    return path_parameters


@schemathesis.hook
def map_body(context, body):
    """The same for the service of a checkout."""
    if context.operation is None or context.operation.path != "/api/v1/checkout" or not isinstance(body, dict):
        return body
    value = body.get("serviceId")
    if isinstance(value, str) and 1 <= len(value) <= 100 and len(value) % 2 == 0:
        body["serviceId"] = FACTS["serviceId"]
    return body


def answer_of(response):
    try:
        return json.loads(response.content)
    except ValueError:
        return None


def is_beyond_schemas(issue):
    return any(
        re.fullmatch(path, issue["path"]) and re.match(message, issue["message"]) for path, message in BEYOND_SCHEMAS
    )


@schemathesis.check
def valid_request_is_accepted(ctx, response, case):
    """`positive_data_acceptance`, except for rules that no schema can express."""
    try:
        return positive_data_acceptance(ctx, response, case)
    except AssertionError:
        answer = answer_of(response)
        if response.status_code in REFUSALS_BY_CONTENT:
            return None
        if response.status_code == 400 and isinstance(answer, dict):
            code = answer.get("code")
            if code not in MALFORMED:
                return None
            if code == "validation_error" and all(map(is_beyond_schemas, answer["details"])):
                return None
        raise


@schemathesis.check
def only_documented_headers(ctx, response, case):
    """Every header is documented for its status, or one that every answer may have."""
    documented = case.operation.responses.find_by_status_code(response.status_code)
    if documented is None:
        return None
    names = {name.lower() for name, _ in documented.headers.items()}
    unknown = sorted(name for name in response.headers if name.lower() not in names | COMMON_HEADERS)
    if unknown:
        raise AssertionError(f"Undocumented headers in a {response.status_code}: {', '.join(unknown)}")
    return None


@schemathesis.check
def no_server_error(ctx, response, case):
    """`not_a_server_error`. A 503 counts only if it outlasts some retries: an overloaded machine may cause one."""
    for _ in range(ATTEMPTS):
        if response.status_code != 503:
            break
        time.sleep(1)
        response = case.call()
    if response.status_code >= 500:
        raise AssertionError(f"{response.status_code}: {response.content[:500]!r}")
    return None
