//! The languages that have an outline: one table.

use crate::protocol::RelPath;

/// A language, by its grammar and the nodes that matter.
#[derive(Debug)]
pub(in crate::execute) struct Language {
    name: &'static str,
    extensions: &'static [&'static str],
    grammar: Grammar,
    /// True if sound files look wrong to the grammar, because it does not know their macros.
    is_preprocessed: bool,
    /// Nodes that are symbols.
    symbols: &'static [&'static str],
    /// Nodes that are no symbols but may hold some: bodies, blocks, exports.
    holders: &'static [&'static str],
    /// Symbols whose members are symbols too.
    parents: &'static [&'static str],
}

/// Which parser; a function, so that none is touched before it is needed.
type Grammar = fn() -> tree_sitter::Language;

/// The role of a node in an outline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// A symbol whose inside is nobody's business.
    Symbol,
    /// A symbol with members.
    Parent,
    /// Nothing itself, but perhaps what is in it.
    Holder,
    /// Nothing.
    Nothing,
}

impl Language {
    /// The language of a file, by its name.
    pub(in crate::execute) fn of(path: &RelPath) -> Option<&'static Self> {
        let (_, extension) = path.file_name().rsplit_once('.')?;
        let extension = extension.to_ascii_lowercase();
        LANGUAGES
            .iter()
            .find(|language| language.extensions.contains(&extension.as_str()))
    }

    /// All of them, for a message.
    pub(super) fn names() -> String {
        let mut names: Vec<&str> = LANGUAGES.iter().map(|language| language.name).collect();
        names.dedup();
        names.join(", ")
    }

    pub(super) fn grammar(&self) -> tree_sitter::Language {
        (self.grammar)()
    }

    /// Returns true if an error that the grammar finds is one.
    pub(in crate::execute) fn finds_errors(&self) -> bool {
        !self.is_preprocessed
    }

    pub(super) fn role(&self, kind: &str) -> Role {
        if self.parents.contains(&kind) {
            Role::Parent
        } else if self.symbols.contains(&kind) {
            Role::Symbol
        } else if self.holders.contains(&kind) {
            Role::Holder
        } else {
            Role::Nothing
        }
    }
}

const SCRIPT_SYMBOLS: &[&str] = &[
    "function_declaration",
    "generator_function_declaration",
    "function_signature",
    "method_definition",
    "method_signature",
    "abstract_method_signature",
    "type_alias_declaration",
    "enum_declaration",
    "lexical_declaration",
    "variable_declaration",
];
const SCRIPT_HOLDERS: &[&str] = &[
    "program",
    "export_statement",
    "ambient_declaration",
    "expression_statement",
    "class_body",
    "interface_body",
    "object_type",
    "statement_block",
];
const SCRIPT_PARENTS: &[&str] = &[
    "class_declaration",
    "abstract_class_declaration",
    "interface_declaration",
    "internal_module",
    "module",
];

/// JavaScript is read as TypeScript, which understands all of it.
const LANGUAGES: &[Language] = &[
    Language {
        name: "Rust",
        extensions: &["rs"],
        grammar: || tree_sitter_rust::LANGUAGE.into(),
        is_preprocessed: false,
        symbols: &[
            "function_item",
            "function_signature_item",
            "struct_item",
            "enum_item",
            "union_item",
            "macro_definition",
            "const_item",
            "static_item",
            "type_item",
            "associated_type",
        ],
        holders: &["source_file", "declaration_list", "foreign_mod_item"],
        parents: &["mod_item", "impl_item", "trait_item"],
    },
    Language {
        name: "Python",
        extensions: &["py", "pyi", "pyw"],
        grammar: || tree_sitter_python::LANGUAGE.into(),
        is_preprocessed: false,
        symbols: &["function_definition"],
        holders: &[
            "module",
            "block",
            "decorated_definition",
            "if_statement",
            "else_clause",
            "elif_clause",
            "try_statement",
            "except_clause",
        ],
        parents: &["class_definition"],
    },
    Language {
        name: "JavaScript",
        extensions: &["js", "mjs", "cjs", "jsx"],
        grammar: || tree_sitter_typescript::LANGUAGE_TSX.into(),
        is_preprocessed: false,
        symbols: SCRIPT_SYMBOLS,
        holders: SCRIPT_HOLDERS,
        parents: SCRIPT_PARENTS,
    },
    Language {
        name: "TypeScript",
        extensions: &["tsx"],
        grammar: || tree_sitter_typescript::LANGUAGE_TSX.into(),
        is_preprocessed: false,
        symbols: SCRIPT_SYMBOLS,
        holders: SCRIPT_HOLDERS,
        parents: SCRIPT_PARENTS,
    },
    Language {
        name: "TypeScript",
        extensions: &["ts", "mts", "cts"],
        grammar: || tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
        is_preprocessed: false,
        symbols: SCRIPT_SYMBOLS,
        holders: SCRIPT_HOLDERS,
        parents: SCRIPT_PARENTS,
    },
    Language {
        name: "Go",
        extensions: &["go"],
        grammar: || tree_sitter_go::LANGUAGE.into(),
        is_preprocessed: false,
        symbols: &[
            "function_declaration",
            "method_declaration",
            "type_declaration",
            "const_declaration",
            "var_declaration",
        ],
        holders: &["source_file"],
        parents: &[],
    },
    Language {
        name: "Java",
        extensions: &["java"],
        grammar: || tree_sitter_java::LANGUAGE.into(),
        is_preprocessed: false,
        symbols: &[
            "method_declaration",
            "constructor_declaration",
            "compact_constructor_declaration",
            "annotation_type_element_declaration",
        ],
        holders: &[
            "program",
            "class_body",
            "interface_body",
            "enum_body",
            "enum_body_declarations",
            "annotation_type_body",
        ],
        parents: &[
            "class_declaration",
            "interface_declaration",
            "enum_declaration",
            "record_declaration",
            "annotation_type_declaration",
        ],
    },
    Language {
        name: "C",
        extensions: &["c", "h"],
        grammar: || tree_sitter_c::LANGUAGE.into(),
        is_preprocessed: true,
        symbols: &[
            "function_definition",
            "declaration",
            "type_definition",
            "struct_specifier",
            "union_specifier",
            "enum_specifier",
            "preproc_function_def",
        ],
        holders: &[
            "translation_unit",
            "preproc_if",
            "preproc_ifdef",
            "preproc_else",
            "preproc_elif",
            "linkage_specification",
            "declaration_list",
        ],
        parents: &[],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    /// A kind that no grammar has would never be found, and nobody would notice.
    #[test]
    fn every_kind_is_one_of_its_grammar() {
        for language in LANGUAGES {
            let grammar = language.grammar();
            for kind in [language.symbols, language.holders, language.parents].concat() {
                assert_ne!(
                    grammar.id_for_node_kind(kind, true),
                    0,
                    "{} {kind}",
                    language.name
                );
            }
        }
    }
}
