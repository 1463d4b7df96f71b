# SPDX-License-Identifier: Apache-2.0
"""tests/k8s/schemas.py: checks a Kubernetes object against the schema of its kind."""

import functools
import json

import jsonschema
import yaml

VERSION = "v1.29.0"
CRDS = ("monitoring.coreos.com/v1", "cert-manager.io/v1")


def closed(schema):
    """Returns the schema changed to reject unknown keys, because an API server silently drops a misspelt key."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    schema = {key: closed(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object" \
            and "additionalProperties" not in schema \
            and not schema.get("x-kubernetes-preserve-unknown-fields"):
        schema["additionalProperties"] = False
    return schema


@functools.lru_cache(maxsize=None)
def of_crd(tools, kind):
    definition = yaml.load((tools / "crds" / f"{kind.lower()}s.yaml").read_text(encoding="utf-8"),
                           Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    version, = [one for one in definition["spec"]["versions"] if one["name"] == "v1"]
    schema = version["schema"]["openAPIV3Schema"]
    # Allow any metadata, because a resource definition does not describe it.
    schema["properties"]["metadata"] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return jsonschema.Draft7Validator(closed(schema))


@functools.lru_cache(maxsize=None)
def of_kubernetes(tools, kind, version):
    group = version.split("/")[0].split(".")[0] + "-" if "/" in version else ""
    folder, = tools.glob(f"schemas/kubernetes_validate/kubernetes-json-schema/{VERSION}-local-strict")
    file = folder / f"{kind.lower()}-{group}{version.split('/')[-1]}.json"
    schema = json.loads(file.read_text(encoding="utf-8"))
    definitions = json.loads((folder / "_definitions.json").read_text(encoding="utf-8"))
    # Give both schemas to jsonschema by their ids, which are web addresses, so that it does not download them.
    known = {one["$id"]: one for one in (schema, definitions)}
    return jsonschema.Draft202012Validator(
        schema, resolver=jsonschema.RefResolver(schema["$id"], schema, store=known))


def mistakes(tools, one):
    """Returns a line for each mistake in the object `one`."""
    kind, version = one["kind"], one["apiVersion"]
    validator = of_crd(tools, kind) if version in CRDS else of_kubernetes(tools, kind, version)
    return [f"{error.json_path}: {error.message}"[:300] for error in validator.iter_errors(one)]
