"""Encrypted messages, version 1, written a second time from docs/api/messages.md.

Reads the test vectors on stdin; prints, for each, what it encrypts and what it decrypts to.
"""

import base64
import json
import sys

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

ALGORITHM = "ECDH-secp256k1+HKDF-SHA256+A256GCM"
INFO = b"agent-marketplace/message/v1"
TAG_BYTES = 16
BOUND = ("fromAgentId", "toAgentId", "contentType", "replyTo", "transactionId")


def private_key(text):
    return ec.derive_private_key(int(text, 16), ec.SECP256K1())


def public_key(text):
    return ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256K1(), bytes.fromhex(text[2:]))


def point(key):
    return key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def message_key(own, other, ephemeral, recipient):
    # `exchange` returns the x-coordinate.
    shared = own.exchange(ec.ECDH(), other)
    return HKDF(SHA256(), 32, salt=point(ephemeral) + point(recipient), info=INFO).derive(shared)


def associated_data(message, header):
    fields = {name: message[name] for name in BOUND}
    fields |= {"v": 1, "alg": ALGORITHM, "ephemeralPublicKey": header["ephemeralPublicKey"], "iv": header["iv"]}
    # Canonical JSON: every field is ASCII, so sorting by code point is enough.
    return json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def plaintext_of(message):
    if message["contentType"].startswith("text/"):
        return message["body"].encode()
    return json.dumps(message["body"], separators=(",", ":"), ensure_ascii=False).encode()


def encrypt(vector):
    ephemeral = private_key(vector["ephemeralPrivateKey"])
    recipient = public_key(vector["recipientPublicKey"])
    iv = bytes.fromhex(vector["iv"][2:])
    header = {
        "ephemeralPublicKey": "0x" + point(ephemeral.public_key()).hex(),
        "iv": base64.b64encode(iv).decode(),
    }
    key = message_key(ephemeral, recipient, ephemeral.public_key(), recipient)
    message = vector["message"]
    sealed = AESGCM(key).encrypt(iv, plaintext_of(message), associated_data(message, header))
    return {
        "v": 1,
        "alg": ALGORITHM,
        **header,
        "ciphertext": base64.b64encode(sealed[:-TAG_BYTES]).decode(),
        "tag": base64.b64encode(sealed[-TAG_BYTES:]).decode(),
    }


def decrypt(vector):
    own = private_key(vector["recipientPrivateKey"])
    encrypted, message = vector["encrypted"], vector["message"]
    ephemeral = public_key(encrypted["ephemeralPublicKey"])
    key = message_key(own, ephemeral, ephemeral, own.public_key())
    sealed = base64.b64decode(encrypted["ciphertext"]) + base64.b64decode(encrypted["tag"])
    opened = AESGCM(key).decrypt(base64.b64decode(encrypted["iv"]), sealed, associated_data(message, encrypted))
    text = opened.decode()
    return text if message["contentType"].startswith("text/") else json.loads(text)


vectors = json.load(sys.stdin)["vectors"]
json.dump([{"encrypted": encrypt(vector), "body": decrypt(vector)} for vector in vectors], sys.stdout)
