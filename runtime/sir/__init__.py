"""SIR, the closed strategy language: a typed JSON document that is compiled, hashed and never repaired.

``Document`` (version 1.2.0 of the schema) is what a person or a model writes; ``runtime.sir.compile.compile_document``
reads one of any version and gives an ``ExecutionPlan`` with its warnings, or all problems of the first stage that
refused. ``document_sha256`` is a document's identity, ``as_document`` gives a plan as JSON values. The closed choices are enums in
``runtime.sir.vocabulary``. The compiler and the schema's JSON form bring TA-Lib with them and are imported from their
own modules.
"""

from runtime.sir.digest import canonical, document_sha256
from runtime.sir.document import SCHEMA_VERSION, Document
from runtime.sir.plan import ExecutionPlan, as_document
from runtime.sir.problems import Category, Problem, Stage
from runtime.sir.vocabulary import Mode

__all__ = [
    "SCHEMA_VERSION",
    "Category",
    "Document",
    "ExecutionPlan",
    "Mode",
    "Problem",
    "Stage",
    "as_document",
    "canonical",
    "document_sha256",
]
