"""An S3 server for one caller: started, asked for what it was asked, ended."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.request import Request, urlopen

import boto3

BUCKET = "lake"
REGION = "us-east-1"
ACCESS_KEY, SECRET_KEY = "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
_ANYTHING = {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}


class Asked(NamedTuple):
    """One request that the server was sent."""

    kind: str
    """GET, HEAD, PUT, DELETE, LIST, or what it has to do with an upload in parts."""
    path: str
    """``/bucket/key``."""
    began: float
    """In seconds of a clock of the server's."""
    ended: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectStore:
    """A server that runs, with one bucket."""

    endpoint: str

    def properties(self, *, with_keys: bool = True) -> dict[str, str]:
        """Return the catalog properties by which its files are reached."""
        where = {"s3.endpoint": self.endpoint, "s3.region": REGION}
        keys = {"s3.access-key-id": ACCESS_KEY, "s3.secret-access-key": SECRET_KEY}
        return {**where, **keys} if with_keys else where

    def catalog(self, database: object, *, folder: str = "tables", **more: str) -> dict[str, str]:
        """Return the properties of a SQLite catalog whose tables lie in a folder of the bucket."""
        return {
            "type": "sql",
            "uri": f"sqlite:///{database}",
            "warehouse": f"s3://{BUCKET}/{folder}",
            **self.properties(),
            **more,
        }

    def make_bucket(self, name: str) -> None:
        """Make a bucket, as long as nobody must sign."""
        urlopen(Request(f"{self.endpoint}/{name}", method="PUT")).close()

    def keys(self, folder: str) -> list[str]:
        """Return what lies in a folder of the bucket, as ``bucket/key``."""
        client = self._client("s3")
        bucket, _, prefix = folder.partition("/")
        pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
        found = [f"{bucket}/{each['Key']}" for page in pages for each in page.get("Contents", ())]
        self.asked()
        return found

    def temporary_keys(self) -> dict[str, str]:
        """Return the keys of a role, with a token, as long as nobody must sign."""
        iam, may = self._client("iam"), {"Version": "2012-10-17", "Statement": [_ANYTHING]}
        role = iam.create_role(RoleName="reader", AssumeRolePolicyDocument=json.dumps(may))
        iam.put_role_policy(RoleName="reader", PolicyName="all", PolicyDocument=json.dumps(may))
        answer = self._client("sts").assume_role(
            RoleArn=role["Role"]["Arn"], RoleSessionName="session"
        )
        keys = answer["Credentials"]
        return {
            "s3.access-key-id": keys["AccessKeyId"],
            "s3.secret-access-key": keys["SecretAccessKey"],
            "s3.session-token": keys["SessionToken"],
        }

    def user(self, name: str, *may: str, within: str = "") -> tuple[str, str]:
        """Make somebody who may do some of what S3 does, and return the two keys.

        Args:
            name: of somebody.
            may: actions of S3.
            within: how paths begin that they are of, ``bucket/folder/``; empty: all.
        """
        where = f"arn:aws:s3:::{within}*" if within else "*"
        allowed = {"Effect": "Allow", "Action": [f"s3:{each}" for each in may], "Resource": where}
        policy = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
        client = self._client("iam")
        client.create_user(UserName=name)
        client.put_user_policy(UserName=name, PolicyName="some", PolicyDocument=policy)
        key = client.create_access_key(UserName=name)["AccessKey"]
        return key["AccessKeyId"], key["SecretAccessKey"]

    def demand_signatures(self) -> tuple[str, str]:
        """Refuse from now on who does not sign; return the keys of somebody who may do anything."""
        keys = self.user("anybody", "*")
        plain = {"Content-Type": "text/plain"}  # a form would be taken apart
        urlopen(Request(f"{self.endpoint}/moto-api/reset-auth", b"0", plain)).close()
        return keys

    def client(self) -> Any:
        """Return a client of AWS's own."""
        return self._client("s3")

    def _client(self, service: str) -> Any:
        return boto3.client(
            service,
            endpoint_url=self.endpoint,
            region_name=REGION,
            aws_access_key_id=ACCESS_KEY,
            aws_secret_access_key=SECRET_KEY,
        )

    def asked(self) -> list[Asked]:
        """Return the requests since this was called last."""
        return [Asked(*each) for each in json.loads(self._control("requests"))]

    def counts(self) -> Counter[str]:
        """Return how many requests of each kind there were since they were asked for last."""
        return Counter(each.kind for each in self.asked())

    def delay(self, milliseconds: float) -> None:
        """Let every request from now on wait."""
        self._control(f"delay?ms={milliseconds}")

    def take_conditions(self, taken: bool) -> None:
        """Take writes with a condition, as S3 does, or refuse them, as other stores do."""
        self._control(f"conditions?taken={taken}")

    def _control(self, what: str) -> bytes:
        with urlopen(f"{self.endpoint}/-/{what}") as answer:
            return bytes(answer.read())


@contextmanager
def object_store(program: str = "benchmarks.requests.server") -> Iterator[ObjectStore]:
    """Start a server for the length of a block.

    Args:
        program: the module that serves; another one may serve more than S3.
    """
    server = subprocess.Popen(
        [sys.executable, "-m", program],
        cwd=Path(__file__).parent.parent.parent,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        port = server.stdout.readline().strip()
        store = ObjectStore(endpoint=f"http://127.0.0.1:{port}")
        store.make_bucket(BUCKET)
        yield store
    finally:
        server.stdin.close()
        server.wait()
        server.stdout.close()
