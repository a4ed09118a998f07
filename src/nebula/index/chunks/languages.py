"""What the chunker knows of each language, as one table. A new language is one entry here and its wheel.

A definition is a node that deserves a chunk of its own; a body is a node that only holds definitions and is looked
into. Where a definition is too long for one chunk, the definitions in its bodies become chunks and the rest is its
head; a function is not looked into (`whole`), its lines are cut into windows.
"""

from __future__ import annotations

from nebula.value import value


@value
class Language:
    grammar: str
    """The module of the grammar, and after a colon the function that gives it."""
    definitions: frozenset[str]
    bodies: frozenset[str] = frozenset()
    whole: frozenset[str] = frozenset()
    """Bodies that are not looked into because they belong to a function."""
    name_fields: tuple[str, ...] = ("name",)
    names: frozenset[str] = frozenset()
    """Children that hold the name where no field does."""
    join_lines: int = 4
    """Neighbours are joined while the chunk before is shorter than this."""
    comments: tuple[str, ...] = ("//", "/*", "*")
    """How a line starts that belongs to the definition below it."""


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


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
_ECMASCRIPT_BODIES = _set("class_body statement_block object pair arguments call_expression arrow_function")
_FUNCTIONS = _set("function_declaration generator_function_declaration method_definition")
_C = (
    "function_definition struct_specifier enum_specifier union_specifier type_definition declaration "
    "preproc_function_def preproc_def function_declarator"
)
_C_BODIES = (
    "preproc_ifdef preproc_if preproc_else preproc_elif linkage_specification declaration_list field_declaration_list"
)


def _typescript(grammar: str) -> Language:
    return Language(
        grammar,
        _set(_TYPESCRIPT),
        _ECMASCRIPT_BODIES | _set("interface_body object_type enum_body"),
        whole=_FUNCTIONS,
        names=_set("variable_declarator call_expression assignment_expression member_expression"),
    )


LANGUAGES: dict[str, Language] = {
    "python": Language(
        "tree_sitter_python:language",
        _set("function_definition class_definition decorated_definition"),
        _set("block if_statement try_statement else_clause except_clause"),
        whole=_set("function_definition"),
        comments=("#",),
    ),
    "javascript": Language(
        "tree_sitter_javascript:language",
        _set(_ECMASCRIPT + " field_definition"),
        _ECMASCRIPT_BODIES,
        whole=_FUNCTIONS,
        names=_set("variable_declarator call_expression assignment_expression member_expression"),
    ),
    "typescript": _typescript("tree_sitter_typescript:language_typescript"),
    "tsx": _typescript("tree_sitter_typescript:language_tsx"),
    "go": Language(
        "tree_sitter_go:language",
        _set("function_declaration method_declaration type_declaration const_declaration var_declaration"),
        names=_set("type_spec const_spec var_spec type_alias"),
    ),
    "rust": Language(
        "tree_sitter_rust:language",
        _set(
            "function_item impl_item trait_item struct_item enum_item union_item mod_item macro_definition const_item "
            "static_item type_item function_signature_item macro_invocation"
        ),
        _set("declaration_list token_tree"),
        whole=_set("function_item macro_definition"),
        name_fields=("name", "type", "macro"),
        comments=("//", "/*", "*", "#["),
    ),
    "java": Language(
        "tree_sitter_java:language",
        _set(
            "class_declaration interface_declaration enum_declaration record_declaration annotation_type_declaration "
            "method_declaration constructor_declaration field_declaration"
        ),
        _set("class_body interface_body enum_body enum_body_declarations"),
        whole=_set("method_declaration constructor_declaration"),
        names=_set("variable_declarator"),
        comments=("//", "/*", "*", "@"),
    ),
    "kotlin": Language(
        "tree_sitter_kotlin:language",
        _set(
            "class_declaration object_declaration companion_object function_declaration property_declaration "
            "type_alias secondary_constructor"
        ),
        _set("class_body enum_class_body"),
        whole=_set("function_declaration"),
        names=_set("variable_declaration identifier"),
        comments=("//", "/*", "*", "@"),
    ),
    "c": Language(
        "tree_sitter_c:language",
        _set(_C),
        _set(_C_BODIES),
        whole=_set("function_definition"),
        name_fields=("name", "declarator"),
    ),
    "cpp": Language(
        "tree_sitter_cpp:language",
        _set(_C + " class_specifier namespace_definition template_declaration alias_declaration"),
        _set(_C_BODIES),
        whole=_set("function_definition"),
        name_fields=("name", "declarator"),
    ),
    "csharp": Language(
        "tree_sitter_c_sharp:language",
        _set(
            "namespace_declaration class_declaration interface_declaration struct_declaration record_declaration "
            "enum_declaration delegate_declaration method_declaration constructor_declaration property_declaration "
            "field_declaration operator_declaration"
        ),
        _set(
            "declaration_list enum_member_declaration_list file_scoped_namespace_declaration "
            "preproc_if preproc_elif preproc_else preproc_region"
        ),
        whole=_set("method_declaration constructor_declaration"),
        names=_set("variable_declaration variable_declarator"),
        comments=("//", "/*", "*", "["),
    ),
    "ruby": Language(
        "tree_sitter_ruby:language",
        _set("module class method singleton_method singleton_class call"),
        _set("body_statement do_block"),
        whole=_set("method singleton_method"),
        name_fields=("name", "method"),
        comments=("#",),
    ),
    "php": Language(
        "tree_sitter_php:language_php",
        _set(
            "class_declaration interface_declaration trait_declaration enum_declaration function_definition "
            "method_declaration const_declaration property_declaration namespace_definition"
        ),
        _set("declaration_list enum_declaration_list compound_statement"),
        whole=_set("function_definition method_declaration"),
        names=_set("const_element property_element name"),
        comments=("//", "/*", "*", "#"),
    ),
    "swift": Language(
        "tree_sitter_swift:language",
        _set(
            "class_declaration protocol_declaration function_declaration init_declaration property_declaration "
            "protocol_function_declaration typealias_declaration"
        ),
        _set("class_body protocol_body enum_class_body"),
        whole=_set("function_declaration init_declaration"),
        comments=("//", "/*", "*", "@"),
    ),
    "scala": Language(
        "tree_sitter_scala:language",
        _set(
            "object_definition class_definition trait_definition enum_definition function_definition val_definition "
            "var_definition given_definition type_definition extension_definition function_declaration"
        ),
        _set("template_body enum_body"),
        whole=_set("function_definition"),
        name_fields=("name", "pattern"),
        comments=("//", "/*", "*", "@"),
    ),
    "sql": Language(
        "tree_sitter_sql:language",
        _set("statement"),
        names=_set(
            "create_table create_view create_function create_index create_type create_trigger alter_table "
            "create_materialized_view object_reference"
        ),
        comments=("--", "/*", "*"),
    ),
    "bash": Language("tree_sitter_bash:language", _set("function_definition"), comments=("#",)),
    "html": Language(
        "tree_sitter_html:language",
        _set("element script_element style_element"),
        names=_set("start_tag self_closing_tag tag_name"),
        join_lines=_DATA_LINES,
        comments=("<!--",),
    ),
    "css": Language(
        "tree_sitter_css:language",
        _set("rule_set media_statement keyframes_statement supports_statement at_rule"),
        _set("block"),
        names=_set("selectors keyframes_name"),
        join_lines=12,
        comments=("/*", "*"),
    ),
    "markdown": Language(
        "tree_sitter_markdown:language",
        _set("section"),
        name_fields=("heading_content",),
        names=_set("atx_heading setext_heading"),
        join_lines=8,
        comments=(),
    ),
    "yaml": Language(
        "tree_sitter_yaml:language",
        _set("block_mapping_pair block_sequence_item"),
        _set("document block_node block_mapping block_sequence"),
        name_fields=("key",),
        join_lines=_DATA_LINES,
        comments=("#",),
    ),
    "json": Language(
        "tree_sitter_json:language",
        _set("pair"),
        _set("object array"),
        name_fields=("key",),
        join_lines=_DATA_LINES,
        comments=(),
    ),
    "toml": Language(
        "tree_sitter_toml:language",
        _set("table table_array_element pair"),
        names=_set("bare_key dotted_key quoted_key"),
        join_lines=_DATA_LINES,
        comments=("#",),
    ),
}
