"""Java's half of what the JVM and Python say to each other, as tests call it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, fields
from decimal import Decimal
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from arctic.spark.base.private_names import gateway, jvm
from arctic.spark.base.protocol import QUESTIONS, Question, ScanQuestion
from arctic.spark.jvm.compiled import compiled


def question_text(question: Question) -> str:
    """Return a question as the JVM writes it."""
    asks = {kind: ask for ask, kind in QUESTIONS.items()}
    return json.dumps({"ask": asks[type(question)], **asdict(question)})


class Java:
    """The Java of the package, compiled as the product does; Py4J does not know it by name."""

    def __init__(self, session: SparkSession) -> None:
        self._jvm, self._gateway = jvm(session), gateway(session)
        self.types: Any = self._jvm.org.apache.spark.sql.types
        """Spark's types of columns."""
        self._connector = self._jvm.org.apache.spark.sql.connector
        self.changes: Any = self._connector.catalog.TableChange
        """Spark's changes of tables."""
        self._loader = compiled(self._jvm)
        self._json: Any = self._jvm.com.fasterxml.jackson.databind.ObjectMapper()

    def call(self, name: str, *arguments: Any, owner: str = "Protocol") -> Any:
        """Call a function."""
        for method in self._loader.loadClass(f"arctic.spark.{owner}").getMethods():
            if method.getName() == name and method.getParameterCount() == len(arguments):
                return method.invoke(None, self._array(arguments))
        raise AssertionError(name)

    def made(self, record: str, told: Any, *, owner: str = "Protocol") -> Any:
        """Return the record of an answer."""
        found = self._loader.loadClass(f"arctic.spark.{owner}${record}")
        return found.getConstructors()[0].newInstance(self._array([self.value(told)]))

    def new(self, name: str, *arguments: Any) -> Any:
        """Return an object of one of our classes."""
        found = self._loader.loadClass(f"arctic.spark.{name}")
        return found.getConstructors()[0].newInstance(self._array(arguments))

    def constant(self, owner: str, name: str) -> Any:
        """Return a constant of one of our classes."""
        return self._loader.loadClass(f"arctic.spark.{owner}").getField(name).get(None)

    def value(self, value: Any) -> Any:
        """Return a value as Java reads it from JSON."""
        return self._json.readValue(json.dumps(value), self._jvm.java.lang.Object().getClass())

    def plain(self, value: Any) -> Any:
        """Return a value as Python reads it from JSON; of a record, the public fields."""
        return json.loads(self._json.writeValueAsString(value))

    def columns(self, schema: StructType) -> Any:
        """Return columns as Spark has them in the JVM."""
        return self.types.DataType.fromJson(schema.json())

    def spark_column(self, name: str) -> Any:
        """Return a column as a filter of Spark has it."""
        return self._connector.expressions.Expressions.column(name)

    def literal(self, value: Any) -> Any:
        """Return a literal as a filter of Spark has it."""
        spark = self._jvm.org.apache.spark
        types = spark.sql.types.DataTypes
        given: tuple[Any, Any]
        if isinstance(value, Decimal):
            given = spark.sql.types.Decimal.apply(str(value)), types.createDecimalType(10, 2)
        elif isinstance(value, str):
            given = spark.unsafe.types.UTF8String.fromString(value), types.StringType
        elif isinstance(value, bytes):
            given = bytearray(value), types.BinaryType
        elif isinstance(value, bool):
            given = value, types.BooleanType
        elif isinstance(value, int):
            given = value, types.IntegerType
        else:
            given = value, types.DoubleType
        return self._connector.expressions.LiteralValue(*given)

    def predicate(self, name: str, *operands: Any) -> Any:
        """Return a filter of Spark."""
        array = self.array(self._connector.expressions.Expression, operands)
        return self._connector.expressions.filter.Predicate(name, array)

    def array(self, kind: Any, values: Sequence[Any]) -> Any:
        """Return an array of Java's."""
        array = self._gateway.new_array(kind, len(values))
        for place, value in enumerate(values):
            array[place] = value
        return array

    def names(self, *names: str) -> Any:
        """Return texts as an array."""
        return self.array(self._jvm.java.lang.String, names)

    def references(self, *columns: str) -> Any:
        """Return columns as an array, as changes of tables name them."""
        kind = self._connector.expressions.NamedReference
        return self.array(kind, [self.spark_column(name) for name in columns])

    def scan(self, question: ScanQuestion) -> Any:
        """Return what a scan knows of its query."""
        given = [getattr(question, field.name) for field in fields(question)]
        groups, required = map(self.value, given[-2:])
        return self.call("scan", self.value(given[0]), *given[1:-2], groups, required)

    def _array(self, values: Any) -> Any:
        listed = self._jvm.java.util.ArrayList()
        for value in values:
            listed.add(value)
        return listed.toArray()


def camel(told: Any) -> Any:
    """Return the fields of an answer with their names as Java spells them."""
    if not isinstance(told, dict):
        return told
    return {camel_name(name): camel(value) for name, value in told.items()}


def camel_name(name: str) -> str:
    """Return a name as Java spells it."""
    first, *others = name.split("_")
    return "".join([first, *(other.title() for other in others)])
