"""RDF files as predicates, with what RDFS says follows from them. Nothing in a file is executed.

`triple(S, P, O)` has all triples; `rdf_type(X, C)`, `rdfs_subClassOf(A, B)` and
`rdfs_subPropertyOf(A, B)` those of the three properties that most rules ask for. A name is text:
`wt:Station` where its file has a prefix for it, else the whole IRI. A literal is a number if its
type is one, else text.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from cernis.errors import DataError
from cernis.knowledge.fact_tables import FactTable, table_of_rows
from cernis.knowledge.ground_values import Value, field_value

if TYPE_CHECKING:
    from pathlib import Path

Triple = tuple[Value, Value, Value]

RDF_ENDINGS: Final = (".ttl", ".nt", ".rdf", ".owl")
"""Endings of RDF files: Turtle, N-Triples, RDF/XML."""

PREDICATES: Final = {
    "rdf_type": "rdf:type", "rdfs_subClassOf": "rdfs:subClassOf",
    "rdfs_subPropertyOf": "rdfs:subPropertyOf",
}  # fmt: skip

_KNOWN: Final = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
_NUMBERS: Final = frozenset(
    {"integer", "decimal", "double", "float", "int", "long", "short", "nonNegativeInteger",
     "positiveInteger", "unsignedInt"}
)  # fmt: skip


def read_rdf(path: Path) -> set[Triple]:
    """The triples of a file, by its ending; DataError if it cannot be read."""
    try:
        import pyoxigraph as rdf
    except ImportError as error:
        raise DataError(
            f"{path}: to read RDF takes pyoxigraph; install cernis with the extra `rdf`"
        ) from error
    formats = {".ttl": rdf.RdfFormat.TURTLE, ".nt": rdf.RdfFormat.N_TRIPLES}
    if not path.is_file():
        raise DataError(f"{path}: there is no such file (looked in {path.parent.absolute()})")
    try:
        form = formats.get(path.suffix.lower(), rdf.RdfFormat.RDF_XML)
        reader = rdf.parse(path=str(path), format=form, base_iri=path.absolute().as_uri())
        triples, prefixes = [], dict(_KNOWN)
        for quad in reader:
            triples.append((quad.subject, quad.predicate, quad.object))
            # In XML a prefix is known only inside of the element that declares it.
            prefixes |= reader.prefixes if form == rdf.RdfFormat.RDF_XML else {}
    except (OSError, ValueError, SyntaxError) as error:
        raise DataError(f"{path}: cannot be read as RDF: {error}") from error
    prefixes |= reader.prefixes
    return {_named(triple, prefixes) for triple in triples}


def _named(triple: tuple[Any, Any, Any], prefixes: Mapping[str, str]) -> Triple:
    subject, predicate, target = (_value(node, prefixes) for node in triple)
    return subject, predicate, target


def _value(node: Any, prefixes: Mapping[str, str]) -> Value:
    kind = type(node).__name__
    if kind == "Literal":
        type_ = node.datatype.value.rpartition("#")[2]
        return field_value(node.value) if type_ in _NUMBERS else str(node.value)
    if kind == "BlankNode":
        return f"_:{node.value}"
    iri = str(node.value)
    fitting = [
        (len(start), name) for name, start in prefixes.items() if start and iri.startswith(start)
    ]
    if not fitting:
        return iri
    length, prefix = max(fitting)
    return f"{prefix}:{iri[length:]}"


def rdf_tables(triples: Iterable[Triple]) -> dict[tuple[str, int], FactTable]:
    """The predicates over some triples and all that they entail."""
    entailed_ = sorted(entailed(triples), key=repr)
    tables = {("triple", 3): table_of_rows(("triple", 3), entailed_)}
    for name, wanted in PREDICATES.items():
        rows = [(s, o) for s, p, o in entailed_ if p == wanted]
        tables[name, 2] = table_of_rows((name, 2), rows)
    return tables


def entailed(triples: Iterable[Triple]) -> set[Triple]:
    """Triples with what follows by sub-classes, sub-properties, domains and ranges.

    That a class is one of its own sub-classes is left out.
    """
    known: set[Triple] = set()
    new = set(triples)
    while new:
        known |= new
        by = _by_property(known)
        above = {p: _above(by[f"rdfs:{p}"]) for p in ("subClassOf", "subPropertyOf")}
        derived: set[Triple] = {
            (low, f"rdfs:{p}", high)
            for p, links in above.items()
            for low, highs in links.items()
            for high in highs
        }
        for subject, predicate, target in known:
            derived |= {(subject, q, target) for q in above["subPropertyOf"].get(predicate, ())}
            derived |= {(subject, "rdf:type", c) for c in by["rdfs:domain"].get(predicate, ())}
            derived |= {(target, "rdf:type", c) for c in by["rdfs:range"].get(predicate, ())}
            if predicate == "rdf:type":
                derived |= {(subject, predicate, c) for c in above["subClassOf"].get(target, ())}
        new = derived - known
    return known


def _by_property(triples: set[Triple]) -> dict[Value, dict[Value, set[Value]]]:
    objects: dict[Value, dict[Value, set[Value]]] = defaultdict(lambda: defaultdict(set))
    for subject, predicate, target in triples:
        objects[predicate][subject].add(target)
    return objects


def _above(links: Mapping[Value, set[Value]]) -> dict[Value, set[Value]]:
    """What each node leads to, over any number of links."""
    reached: dict[Value, set[Value]] = {}
    for node in list(links):
        seen: set[Value] = set()
        stack = list(links[node])
        while stack:
            current = stack.pop()
            if current not in seen:
                seen.add(current)
                stack.extend(links.get(current, ()))
        reached[node] = seen
    return reached
