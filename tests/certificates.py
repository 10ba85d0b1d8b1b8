"""Certificates of an invented authority, as PEM files, for tests of TLS."""

from __future__ import annotations

import datetime
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

DAY = datetime.timedelta(days=1)


class Authority:
    """A certificate authority that writes what it signs into a folder.

    Args:
        folder: For the files.
        name: Of the authority, and of its own file.
    """

    def __init__(self, folder, name="authority"):
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name(name)
        certificate = self._signed(self._name, self._key.public_key(), is_ca=True)
        self.file = folder / f"{name}.pem"
        self.file.write_bytes(_pem(certificate))

    def sign(self, name, address="127.0.0.1"):
        """Return the files of a certificate and of its key.

        The first holds the key as well, as Kafka wants it.

        Args:
            name: The common name.
            address: The host's, by which a server is known.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._signed(_name(name), key.public_key(), address=address)
        secret = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        chain, alone = self._folder / f"{name}.pem", self._folder / f"{name}.key"
        chain.write_bytes(secret + _pem(certificate))
        alone.write_bytes(secret)
        return chain, alone

    def _signed(self, subject, key, *, is_ca=False, address=None):
        now = datetime.datetime.now(datetime.UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - DAY)
            .not_valid_after(now + DAY)
            .add_extension(x509.BasicConstraints(is_ca, None), critical=True)
        )
        if address is not None:
            host = x509.IPAddress(ip_address(address))
            names = x509.SubjectAlternativeName([host])
            builder = builder.add_extension(names, critical=False)
        return builder.sign(self._key, hashes.SHA256())


def _name(text):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _pem(certificate):
    return certificate.public_bytes(serialization.Encoding.PEM)
