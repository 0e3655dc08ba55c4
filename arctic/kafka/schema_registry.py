"""A schema registry: the Avro schemas that messages name by number.

Rules:
    - A number names one schema for ever, so each is asked for once.
    - A registry that cannot be asked stops the reader: its messages are not broken. Nor are they
      where somebody else answers, as a proxy does with a page to sign in.

Must not know: messages.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from arctic.errors import InvalidInputError, StorageError, UnsupportedError
from arctic.redact import NOTHING_KNOWN, without_secrets

PREFIX = "schema.registry."
"""Of settings that are the registry's, not the broker's."""
_SETTINGS: Mapping[str, Any] = {"timeout": 30.0}
_MISSING = (40401, 40402, 40403)
"""What a registry says of subjects, versions and schemas that it does not have. Who answers 404
without that is no registry."""
_NUMBERS = (
    "timeout", "cache.capacity", "cache.latest.ttl.sec", "max.retries", "retries.wait.ms",
    "retries.max.wait.ms",
)  # fmt: skip


class SchemaRegistry:
    """Answers which schema a number names."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        """Take settings of Confluent's client, such as ``url`` and ``basic.auth.user.info``.

        Raises:
            UnsupportedError: the extra is not installed.
            InvalidInputError: a setting that the client does not take.
        """
        try:
            # An extra of its own, which few processes need.
            import fastavro  # noqa: F401, PLC0415
            import httpx2  # noqa: PLC0415
            from confluent_kafka import schema_registry  # noqa: PLC0415
            from confluent_kafka.schema_registry.error import OAuthTokenError  # noqa: PLC0415
        except ImportError as error:
            raise UnsupportedError(
                "a schema registry needs fastavro and Confluent's client; install the extra, in a "
                "checkout: pip install '.[kafka-avro]'"
            ) from error
        given: dict[str, Any] = {**_SETTINGS, **settings}
        self._where = without_secrets(str(given.get("url", "")))
        try:
            given |= {name: float(given[name]) for name in _NUMBERS if name in given}
            if not self._where.startswith(("http://", "https://")):
                raise ValueError(f"url {self._where!r}: expected http:// or https://")
            self._client = schema_registry.SchemaRegistryClient(given)
        except (ValueError, TypeError, OSError) as error:
            said = without_secrets(str(error))
            text = f"setting of the schema registry, after {PREFIX!r}: {said}"
            raise InvalidInputError(text) from NOTHING_KNOWN.cause(error)
        self._no_such = schema_registry.SchemaRegistryError
        self._unreachable = (httpx2.HTTPError, httpx2.InvalidURL, OAuthTokenError)

    def close(self) -> None:
        """Close the connection to it."""
        self._client.close()

    def schema(self, number: int) -> tuple[Any, tuple[Any, ...]]:
        """Return the schema of a number, and those that it refers to, before whom they need.

        Raises:
            LookupError: there is none, or it is not Avro.
            StorageError: the registry cannot be asked.
        """
        found = self._asked(f"schema {number}", lambda: self._client.get_schema(number))
        if (found.schema_type or "AVRO") != "AVRO":
            raise LookupError(f"schema {number} is {found.schema_type}, not Avro")
        return json.loads(found.schema_str), tuple(self._referred(found))

    def _referred(self, schema: Any) -> list[Any]:
        every = []
        for each in schema.references or ():
            named = f"version {each.version} of subject {each.subject!r}"

            def get(each: Any = each) -> Any:
                return self._client.get_version(each.subject, each.version).schema

            found = self._asked(named, get)
            every += [*self._referred(found), json.loads(found.schema_str)]
        return every

    def _asked(self, what: str, ask: Any) -> Any:
        try:
            found = ask()
            if isinstance(found.schema_str, str):
                return found
            said = "the answer has no schema"
        except self._no_such as error:
            if error.error_code in _MISSING:
                raise LookupError(f"{what} is not in the registry") from error
            said = without_secrets(str(error))
        except self._unreachable as error:
            said = without_secrets(str(error))
            raise StorageError(
                f"ask the schema registry {self._where} for {what}: {said}"
            ) from NOTHING_KNOWN.cause(error)
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            said = f"the answer is none of a registry ({type(error).__name__})"
        raise StorageError(f"ask the schema registry {self._where} for {what}: {said}")
