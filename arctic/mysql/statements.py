"""What a statement in a binary log does to a table whose rows are followed.

Rules:
    - A statement that only names columns anew, takes them away, adds ones that are null in every
      row, or changes no rows at all is known as such by its form, word by word.
    - Every other one that names the table may have changed rows in silence: they are copied again.
      Where it may have taken rows away, the copy takes the place of all of them.
    - What a server carries out of a comment, from ``/*!`` on, is no comment here.

Must not know: servers, tables.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from arctic.errors import UnsupportedError

_NAME = r"(?:`(?:[^`]|``)+`|[\w$]+)"
_TEXT = r"'(?:[^'\\]|''|\\.)*'"
_QUOTED = rf"(?:{_TEXT}|\"(?:[^\"\\]|\"\"|\\.)*\"|`(?:[^`]|``)*`)"
_COMMENT = re.compile(rf"({_QUOTED})|/\*(?!M?!).*?\*/|(?:#|--(?=\s|$))[^\n]*", re.DOTALL)
_IDLE = re.compile(
    r"(?:GRANT|REVOKE|SET(?!\s+STATEMENT\b)|FLUSH|ANALYZE|OPTIMIZE|CHECK|REPAIR|CHECKSUM|USE|SHOW)\b"
    r"|(?:CREATE|ALTER|DROP)\s+(?:OR\s+REPLACE\s+)?(?:ALGORITHM\s*=\s*\w+\s+)?"
    r"(?:DEFINER\s*=\s*\S+\s+)?(?:SQL\s+SECURITY\s+\w+\s+)?(?:AGGREGATE\s+)?"
    r"(?:TEMPORARY|VIEW|TRIGGER|PROCEDURE|FUNCTION|EVENT|USER|ROLE|SEQUENCE|SERVER)\b"
    r"|CREATE\s+(?:OR\s+REPLACE\s+)?(?:UNIQUE\s+|FULLTEXT\s+|SPATIAL\s+)?INDEX\b|DROP\s+INDEX\b",
    re.IGNORECASE,
)
_CREATE = re.compile(
    rf"CREATE\s+(?:OR\s+REPLACE\s+)?TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?(?:{_NAME}\s*\.\s*)?({_NAME})",
    re.IGNORECASE,
)
_TRUNCATE = re.compile(rf"TRUNCATE\s+(?:TABLE\s+)?(?:{_NAME}\s*\.\s*)?{_NAME}", re.IGNORECASE)
_DROP_DATABASE = re.compile(
    rf"DROP\s+(?:DATABASE|SCHEMA)\s+(?:IF\s+EXISTS\s+)?({_NAME})", re.IGNORECASE
)
_ALTER = re.compile(
    rf"ALTER\s+(?:ONLINE\s+)?TABLE\s+(?:IF\s+EXISTS\s+)?(?:{_NAME}\s*\.\s*)?{_NAME}\s+(.*)",
    re.IGNORECASE | re.DOTALL,
)
_RENAMED = re.compile(
    rf"(?:RENAME\s+COLUMN\s+(?:IF\s+EXISTS\s+)?({_NAME})\s+TO\s+({_NAME})"
    rf"|CHANGE\s+(?:COLUMN\s+)?(?:IF\s+EXISTS\s+)?({_NAME})\s+({_NAME})\s.*)",
    re.IGNORECASE | re.DOTALL,
)
_DROPPED = re.compile(
    rf"DROP\s+(?:COLUMN\s+)?(?:IF\s+EXISTS\s+)?"
    rf"(?!(?:PRIMARY|PARTITION|PERIOD|SYSTEM|INDEX|KEY|CONSTRAINT|FOREIGN|CHECK)\b)({_NAME})",
    re.IGNORECASE,
)
_ADDED = re.compile(
    rf"ADD\s+(?:COLUMN\s+)?(?:IF\s+NOT\s+EXISTS\s+)?(?!(?:INDEX|KEY|UNIQUE|FULLTEXT|SPATIAL|PRIMARY|"
    rf"CONSTRAINT|FOREIGN|CHECK|PARTITION|PERIOD|SYSTEM)\b)({_NAME})\s+(?!(?:TIMESTAMP|SERIAL)\b)\w+"
    rf"(?:\s+PRECISION)?(?:\s*\((?:[^()']|{_TEXT})*\))?"
    rf"(?:\s+(?:UNSIGNED|SIGNED|ZEROFILL|NULL|DEFAULT\s+NULL|FIRST|AFTER\s+{_NAME}|COMMENT\s+{_TEXT}|"
    rf"(?:CHARACTER\s+SET|CHARSET|COLLATE)\s*=?\s*\w+))*",
    re.IGNORECASE,
)
_KEEPS_ROWS = re.compile(
    rf"DROP\s+(?:INDEX|KEY|CONSTRAINT|FOREIGN\s+KEY|CHECK)\s+(?:IF\s+EXISTS\s+)?{_NAME}"
    rf"|ADD\s+(?:(?:UNIQUE|FULLTEXT|SPATIAL)(?:\s+(?:INDEX|KEY))?|INDEX|KEY)\b.*"
    rf"|RENAME\s+(?:INDEX|KEY)\s+.*|COMMENT\s*=?\s*{_TEXT}|AUTO_INCREMENT\s*=?\s*\d+"
    r"|ENGINE\s*=?\s*InnoDB|(?:ALGORITHM|LOCK|ROW_FORMAT)\s*=?\s*\w+|FORCE",
    re.IGNORECASE | re.DOTALL,
)
_TAKES_ROWS = re.compile(
    r"\b(?:PARTITION|PARTITIONING|TRUNCATE|DISCARD|IMPORT|EXCHANGE|PRIMARY|IGNORE|VERSIONING)\b"
    r"|\bRENAME\s+(?!COLUMN\b|INDEX\b|KEY\b)",
    re.IGNORECASE,
)
_SAVEPOINT = re.compile(
    r"(?:(SAVEPOINT)|(ROLLBACK)(?:\s+WORK)?\s+TO(?:\s+SAVEPOINT)?|(RELEASE)\s+SAVEPOINT)"
    r"(?:\s+([^\s`\"']+)|\s*(`(?:[^`]|``)+`|\"(?:[^\"]|\"\")+\"))",
    re.IGNORECASE,
)
_SAVES = re.compile(r"(?:SAVEPOINT|ROLLBACK|RELEASE)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Alteration:
    """What a statement did to one table; all clauses name columns as they were before it."""

    renames: tuple[tuple[str, str], ...] = ()
    """Columns: before, after."""
    drops: tuple[str, ...] = ()
    adds: tuple[str, ...] = ()
    """Columns that are null in every row, unless they were there and it lets them be."""
    rewrites: bool = False
    """Whether rows may have been changed."""
    replaces: bool = False
    """Whether the table may have other rows now."""
    truncates: bool = False
    """Whether it emptied the table, and did nothing else."""


def alteration_of(statement: str, database: str, schema: str, table: str) -> Alteration | None:
    """Return what a statement did to a table; None: nothing that its rows or columns show.

    >>> alteration_of("ALTER TABLE t RENAME COLUMN a TO b, ADD c INT", "shop", "shop", "t").renames
    (('a', 'b'),)

    Args:
        statement: as the log has it.
        database: the one that was in use.
        schema: of the table.
        table: its name.
    """
    text = _without_comments(statement)
    dropped = _DROP_DATABASE.match(text)
    if dropped is not None:
        return Alteration(replaces=True) if plain(dropped[1]).lower() == schema.lower() else None
    if _IDLE.match(text) or not _names(text, table):
        return None
    if database.lower() != schema.lower() and not _names(text, schema):
        return None
    created = _CREATE.match(text)
    if created is not None:
        is_ours = plain(created[1]).lower() == table.lower()
        return Alteration(replaces=True) if is_ours else None
    if _TRUNCATE.fullmatch(text):
        return Alteration(truncates=True)
    altered = _ALTER.fullmatch(text)
    if altered is None or _TAKES_ROWS.search(_without_texts(altered[1])):
        return Alteration(replaces=True)
    return _altered(altered[1])


def _altered(clauses: str) -> Alteration:
    renames, drops, adds, rewrites = [], [], [], False
    for clause in _split(clauses):
        if (renamed := _RENAMED.fullmatch(clause)) is not None:
            before, after = (plain(name) for name in renamed.groups() if name is not None)
            renames += [(before, after)] if before != after else []
            rewrites = rewrites or renamed[1] is None
        elif (dropped := _DROPPED.fullmatch(clause)) is not None:
            drops.append(plain(dropped[1]))
        elif (added := _ADDED.fullmatch(clause)) is not None:
            adds.append(plain(added[1]))
        elif not _KEEPS_ROWS.fullmatch(clause):
            rewrites = True
    return Alteration(
        renames=tuple(renames), drops=tuple(drops), adds=tuple(adds), rewrites=rewrites
    )


def savepoint_of(statement: str) -> tuple[str, str] | None:
    """Return what a statement does with a savepoint, and the savepoint; None: it is about none.

    >>> savepoint_of("rollback work to savepoint `Half way` -- again")
    ('ROLLBACK', 'half way')

    Args:
        statement: as the log has it.

    Returns:
        SAVEPOINT, ROLLBACK or RELEASE, and a name that is equal for all ways to write it.

    Raises:
        UnsupportedError: it begins as one does, and goes on in no known way.
    """
    text = _without_comments(statement)
    found = _SAVEPOINT.fullmatch(text)
    if found is not None:
        verb, name = (part for part in found.groups() if part is not None)
        return verb.upper(), plain(name).lower()
    if _SAVES.match(text):
        raise UnsupportedError(
            f"the log has {statement[:200]!r}, and which rows it takes back is not known here; "
            "drop the mirrors, and they are copied anew"
        )
    return None


def plain(name: str) -> str:
    """Return a name as it is without quotes.

    >>> plain("`a``b`"), plain('"c"'), plain("d")
    ('a`b', 'c', 'd')
    """
    quote = name[:1]
    return name[1:-1].replace(quote * 2, quote) if quote in ("`", '"') else name


def _names(text: str, name: str) -> bool:
    unquoted = text.replace("``", "`").lower()
    return bool(re.search(rf"(?<![\w$]){re.escape(name.lower())}(?![\w$])", unquoted))


def _without_comments(statement: str) -> str:
    bare = _COMMENT.sub(lambda found: found[1] or " ", statement)
    return bare.strip().rstrip(";").strip()


def _without_texts(text: str) -> str:
    return re.sub(_QUOTED, " ", text)


def _split(clauses: str) -> list[str]:
    """Return the clauses of a list: commas in brackets and quotes part none."""
    found, depth, begins = [], 0, 0
    for part in re.finditer(rf"{_QUOTED}|[(),]", clauses):
        mark = part[0]
        depth += (mark == "(") - (mark == ")")
        if mark == "," and not depth:
            found.append(clauses[begins : part.start()])
            begins = part.end()
    found.append(clauses[begins:])
    return [each.strip() for each in found]
