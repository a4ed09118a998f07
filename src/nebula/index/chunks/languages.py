"""What the chunker knows of each language, as one table. A new language is one entry here and its wheel.

A definition is a node that deserves a chunk of its own; a body is a node that only holds definitions and is looked
into. Where a definition is too long for one chunk, the definitions in its bodies become chunks and the rest is its
head; a function is not looked into (`whole`), its lines are cut into windows.
"""

from __future__ import annotations

from typing import Any

from nebula.value import value


@value
class Language:
    definitions: frozenset[str]
    bodies: frozenset[str]
    whole: frozenset[str]
    """Bodies that are not looked into because they belong to a function."""
    names: frozenset[str]
    """Children that hold the name where no field does."""
    name_fields: tuple[str, ...] = ("name",)
    join_lines: int = 4
    """Neighbours are joined while the chunk before is shorter than this."""
    comments: tuple[str, ...] = ("//", "/*", "*")
    """How a line starts that belongs to the definition below it."""
    grammar: str = ""
    """The module of the grammar, and after a colon the function that gives it; most are `tree_sitter_NAME:language`."""


def _language(definitions: str, bodies: str = "", whole: str = "", names: str = "", **more: Any) -> Language:
    """Return a language whose kinds of nodes are given as words."""
    kinds = {"definitions": definitions, "bodies": bodies, "whole": whole, "names": names}
    more |= {name: frozenset(words.split()) for name, words in kinds.items()}
    return Language(**more)


_DATA_LINES = 30
"""Keys of a data file are a line each; a chunk a key would be noise, so they are joined up to about a screen."""

_ECMASCRIPT = (
    "function_declaration generator_function_declaration method_definition class_declaration "
    "lexical_declaration variable_declaration export_statement expression_statement"
)
_TYPESCRIPT = (
    f"{_ECMASCRIPT} abstract_class_declaration interface_declaration type_alias_declaration enum_declaration "
    "internal_module module ambient_declaration function_signature public_field_definition"
)
_ECMASCRIPT_BODIES = "class_body statement_block object pair arguments call_expression arrow_function"
_FUNCTIONS = "function_declaration generator_function_declaration method_definition"
_C = (
    "function_definition struct_specifier enum_specifier union_specifier type_definition declaration "
    "preproc_function_def preproc_def function_declarator"
)
_C_BODIES = (
    "preproc_ifdef preproc_if preproc_else preproc_elif linkage_specification declaration_list field_declaration_list"
)


def _typescript(grammar: str) -> Language:
    return _language(
        _TYPESCRIPT,
        bodies=f"{_ECMASCRIPT_BODIES} interface_body object_type enum_body",
        whole=_FUNCTIONS,
        names="variable_declarator call_expression assignment_expression member_expression",
        grammar=grammar,
    )


LANGUAGES: dict[str, Language] = {
    "python": _language(
        "function_definition class_definition decorated_definition",
        bodies="block if_statement try_statement else_clause except_clause",
        whole="function_definition",
        comments=("#",),
    ),
    "javascript": _language(
        f"{_ECMASCRIPT} field_definition",
        bodies=_ECMASCRIPT_BODIES,
        whole=_FUNCTIONS,
        names="variable_declarator call_expression assignment_expression member_expression",
    ),
    "typescript": _typescript("tree_sitter_typescript:language_typescript"),
    "tsx": _typescript("tree_sitter_typescript:language_tsx"),
    "go": _language(
        "function_declaration method_declaration type_declaration const_declaration var_declaration",
        names="type_spec const_spec var_spec type_alias",
    ),
    "rust": _language(
        "function_item impl_item trait_item struct_item enum_item union_item mod_item macro_definition const_item "
        "static_item type_item function_signature_item macro_invocation",
        bodies="declaration_list token_tree",
        whole="function_item macro_definition",
        name_fields=("name", "type", "macro"),
        comments=("//", "/*", "*", "#["),
    ),
    "java": _language(
        "class_declaration interface_declaration enum_declaration record_declaration annotation_type_declaration "
        "method_declaration constructor_declaration field_declaration",
        bodies="class_body interface_body enum_body enum_body_declarations",
        whole="method_declaration constructor_declaration",
        names="variable_declarator",
        comments=("//", "/*", "*", "@"),
    ),
    "kotlin": _language(
        "class_declaration object_declaration companion_object function_declaration property_declaration "
        "type_alias secondary_constructor",
        bodies="class_body enum_class_body",
        whole="function_declaration",
        names="variable_declaration identifier",
        comments=("//", "/*", "*", "@"),
    ),
    "c": _language(
        _C,
        bodies=_C_BODIES,
        whole="function_definition",
        name_fields=("name", "declarator"),
    ),
    "cpp": _language(
        f"{_C} class_specifier namespace_definition template_declaration alias_declaration",
        bodies=_C_BODIES,
        whole="function_definition",
        name_fields=("name", "declarator"),
    ),
    "csharp": _language(
        "namespace_declaration class_declaration interface_declaration struct_declaration record_declaration "
        "enum_declaration delegate_declaration method_declaration constructor_declaration property_declaration "
        "field_declaration operator_declaration",
        bodies="declaration_list enum_member_declaration_list file_scoped_namespace_declaration "
        "preproc_if preproc_elif preproc_else preproc_region",
        whole="method_declaration constructor_declaration",
        names="variable_declaration variable_declarator",
        comments=("//", "/*", "*", "["),
        grammar="tree_sitter_c_sharp:language",
    ),
    "ruby": _language(
        "module class method singleton_method singleton_class call",
        bodies="body_statement do_block",
        whole="method singleton_method",
        name_fields=("name", "method"),
        comments=("#",),
    ),
    "php": _language(
        "class_declaration interface_declaration trait_declaration enum_declaration function_definition "
        "method_declaration const_declaration property_declaration namespace_definition",
        bodies="declaration_list enum_declaration_list compound_statement",
        whole="function_definition method_declaration",
        names="const_element property_element name",
        comments=("//", "/*", "*", "#"),
        grammar="tree_sitter_php:language_php",
    ),
    "swift": _language(
        "class_declaration protocol_declaration function_declaration init_declaration property_declaration "
        "protocol_function_declaration typealias_declaration",
        bodies="class_body protocol_body enum_class_body",
        whole="function_declaration init_declaration",
        comments=("//", "/*", "*", "@"),
    ),
    "scala": _language(
        "object_definition class_definition trait_definition enum_definition function_definition val_definition "
        "var_definition given_definition type_definition extension_definition function_declaration",
        bodies="template_body enum_body",
        whole="function_definition",
        name_fields=("name", "pattern"),
        comments=("//", "/*", "*", "@"),
    ),
    "sql": _language(
        "statement",
        names="create_table create_view create_function create_index create_type create_trigger alter_table "
        "create_materialized_view object_reference",
        comments=("--", "/*", "*"),
    ),
    "bash": _language("function_definition", comments=("#",)),
    "html": _language(
        "element script_element style_element",
        names="start_tag self_closing_tag tag_name",
        join_lines=_DATA_LINES,
        comments=("<!--",),
    ),
    "css": _language(
        "rule_set media_statement keyframes_statement supports_statement at_rule",
        bodies="block",
        names="selectors keyframes_name",
        join_lines=12,
        comments=("/*", "*"),
    ),
    "markdown": _language(
        "section",
        name_fields=("heading_content",),
        names="atx_heading setext_heading",
        join_lines=8,
        comments=(),
    ),
    "yaml": _language(
        "block_mapping_pair block_sequence_item",
        bodies="document block_node block_mapping block_sequence",
        name_fields=("key",),
        join_lines=_DATA_LINES,
        comments=("#",),
    ),
    "json": _language(
        "pair",
        bodies="object array",
        name_fields=("key",),
        join_lines=_DATA_LINES,
        comments=(),
    ),
    "toml": _language(
        "table table_array_element pair",
        names="bare_key dotted_key quoted_key",
        join_lines=_DATA_LINES,
        comments=("#",),
    ),
}
