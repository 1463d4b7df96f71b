# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/certificates.py: makes nodes' certificates in a temporary folder, with any time of validity."""

import datetime
import os
import pathlib
import subprocess
import tempfile

# A configuration for `openssl ca`. Unlike `hatctl certs`, this command can make a certificate that began in the past.
AUTHORITY = """[ca]
default_ca = it
[it]
database = {folder}/index
new_certs_dir = {folder}
rand_serial = yes
default_md = sha256
policy = names
copy_extensions = copy
unique_subject = no
[names]
commonName = supplied
"""


def run(*words):
    return subprocess.run(list(map(str, words)), check=True, capture_output=True, text=True, timeout=60).stdout


def revoke(folder, *nodes):
    """Writes crl.pem in `folder`: a list, signed by the CA in `folder`, that revokes the certificates of `nodes`."""
    rows = []
    for node in nodes:
        serial = run("openssl", "x509", "-in", folder / f"{node}.pem", "-noout", "-serial")
        rows.append(f"R\t991231000000Z\t200101000000Z\t{serial.strip().partition('=')[2]}\tunknown\t/CN={node}\n")
    (folder / "revoked").write_text("".join(rows), encoding="ascii")
    (folder / "crl.cnf").write_text(f"[ca]\ndefault_ca = it\n[it]\ndatabase = {folder}/revoked\n"
                                    f"certificate = {folder}/ca.pem\nprivate_key = {folder}/ca.key\n"
                                    "default_md = sha256\ndefault_crl_days = 1\n", encoding="ascii")
    draft = folder / "crl.draft"
    run("openssl", "ca", "-gencrl", "-config", folder / "crl.cnf", "-out", draft)
    os.replace(draft, folder / "crl.pem")


class Certificates:
    """A CA and a certificate for each node, made by `hatctl certs make`. A context manager."""

    def __init__(self, programs, *nodes):
        self.hatctl = programs / "hatctl"
        self.nodes = nodes
        self.temporary = tempfile.TemporaryDirectory(prefix="hatrpc-certificates-")
        self.folder = pathlib.Path(self.temporary.name)

    def __enter__(self):
        self.make(*self.nodes)
        return self

    def __exit__(self, *_):
        self.temporary.cleanup()

    def make(self, *nodes, days=1):
        """Replaces the nodes' certificates by new ones that are valid for `days` days (0: they have expired)."""
        run(self.hatctl, "certs", "make", self.folder, *nodes, "--days", days)

    def tls(self, node):
        """Returns the keys for TLS that belong in the section `link` of the node's hatrpcd.yaml."""
        return {"tls": {"certificate": str(self.folder / f"{node}.pem"),
                        "key": str(self.folder / f"{node}.key"), "ca": str(self.folder / "ca.pem")}}

    def make_for(self, node, seconds_before, seconds_left):
        """Makes a certificate for the node's key, valid from `seconds_before` ago until `seconds_left` from now."""
        draft = self.folder / "draft"
        draft.mkdir()
        (draft / "index").touch()
        (draft / "openssl.cnf").write_text(AUTHORITY.format(folder=draft), encoding="ascii")
        run("openssl", "req", "-new", "-key", self.folder / f"{node}.key", "-subj", f"/CN={node}",
            "-addext", f"subjectAltName=DNS:{node}", "-out", draft / "request")
        now = datetime.datetime.now(datetime.timezone.utc)
        since, until = ((now + datetime.timedelta(seconds=seconds)).strftime("%Y%m%d%H%M%SZ")
                        for seconds in (-seconds_before, seconds_left))
        run("openssl", "ca", "-batch", "-notext", "-config", draft / "openssl.cnf", "-in", draft / "request",
            "-cert", self.folder / "ca.pem", "-keyfile", self.folder / "ca.key",
            "-startdate", since, "-enddate", until, "-out", draft / "pem")
        os.replace(draft / "pem", self.folder / f"{node}.pem")
        for file in draft.iterdir():
            file.unlink()
        draft.rmdir()
